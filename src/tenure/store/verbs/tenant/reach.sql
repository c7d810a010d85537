-- A job, everything below it and, if asked, everything that comes after any of these.
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
                SELECT e.job_id FROM tenant.edge AS e WHERE e.needs_id = reached.id AND dependents) AS n
        )
        SELECT r.id FROM reached AS r ORDER BY r.id);
END $$;
