-- Return whether the caller may see this job.
CREATE OR REPLACE FUNCTION tenant.can_see_job(job bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN tenant.can_see_all_jobs() OR EXISTS (
        SELECT FROM tenant.payload AS p WHERE p.job_id = can_see_job.job AND p.owner = tenure.actor(NULL));
END $$;
