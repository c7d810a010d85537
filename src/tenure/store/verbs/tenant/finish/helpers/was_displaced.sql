-- Return whether a job was released before because its runner had to end for another job.
CREATE OR REPLACE FUNCTION tenant.was_displaced(job bigint) RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM tenant.attempt AS a WHERE a.job_id = was_displaced.job AND a.outcome = 'displaced')
$$;
