-- Delete the inspections of jobs that have left their worker.
CREATE OR REPLACE FUNCTION tenant.close_inspections(jobs bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM tenant.inspection) THEN
        WITH closed AS (DELETE FROM tenant.inspection AS l WHERE l.job_id = ANY (jobs) RETURNING l.job_id)
        DELETE FROM tenure.signal AS s USING closed WHERE s.tenant = '{tenant}' AND s.job_id = closed.job_id;
    END IF;
END $$;
