-- Return a job, all its descendants and, if asked, all live jobs that depend on any of these (except jobs
-- that run whatever their dependencies end as). With "whose" only dependents of this owner; descendants are
-- always stopped with their ancestor, whoever owns them.
CREATE OR REPLACE FUNCTION tenant.jobs_to_stop(job bigint, dependents boolean, whose text) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    RETURN ARRAY(
        WITH RECURSIVE reached AS (
            SELECT jobs_to_stop.job AS id
            UNION
            SELECT n.id FROM reached CROSS JOIN LATERAL (
                SELECT c.id FROM tenant.job AS c WHERE c.parent_id = reached.id
                UNION ALL
                SELECT e.job_id FROM tenant.edge AS e JOIN tenant.job AS d ON d.id = e.needs_id
                WHERE e.needs_id = reached.id AND dependents AND e.policy <> 'run' AND d.ended_at IS NULL
                  AND (whose IS NULL OR whose = (SELECT p.owner FROM tenant.payload AS p
                      WHERE p.job_id = e.job_id))) AS n
        )
        SELECT r.id FROM reached AS r ORDER BY r.id);
END $$;
