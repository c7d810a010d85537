-- Return the grants that these jobs hold, and wake the lines that may continue.
CREATE OR REPLACE FUNCTION tenant.return_grants(jobs bigint[]) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    -- Whether a line waits is not asked: one may be forming in a claim that still counts these grants.
    WITH returned AS (
        DELETE FROM tenant.limit_grant AS g WHERE g.job_id = ANY (jobs) RETURNING g.name
    )
    INSERT INTO tenant.wake (limit_name) SELECT DISTINCT r.name FROM returned AS r;
    RETURN FOUND;
END $$;
