-- Whether the caller may look at this job.
CREATE OR REPLACE FUNCTION tenant.sees(job bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN tenant.sees_all() OR EXISTS (
        SELECT FROM tenant.payload AS p WHERE p.job_id = sees.job AND p.owner = tenure.actor(NULL));
END $$;
