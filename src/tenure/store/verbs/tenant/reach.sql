-- A job, everything below it and, if asked, everything that comes after any of these that is not over
-- (but for jobs that run whatever becomes of what they come after).
CREATE OR REPLACE FUNCTION tenant.reach(job bigint, dependents boolean) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
    RETURN ARRAY(
        WITH RECURSIVE reached AS (
            SELECT reach.job AS id
            UNION
            SELECT n.id FROM reached CROSS JOIN LATERAL (
                SELECT c.id FROM tenant.job AS c WHERE c.parent_id = reached.id
                UNION ALL
                SELECT e.job_id FROM tenant.edge AS e JOIN tenant.job AS d ON d.id = e.needs_id
                WHERE e.needs_id = reached.id AND dependents AND e.policy <> 'run' AND d.ended_at IS NULL) AS n
        )
        SELECT r.id FROM reached AS r ORDER BY r.id);
END $$;
