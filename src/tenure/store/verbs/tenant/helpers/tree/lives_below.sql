-- Return whether any descendant of a job has not ended. Usually a child has not, and is found at once; all
-- descendants are read only if every child has ended. The order enforces the index (EXISTS would ignore
-- it): where most children were open when statistics were taken, the planner chose an arbitrary index.
CREATE OR REPLACE FUNCTION tenant.lives_below(job bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    RETURN (SELECT true FROM tenant.job AS c WHERE c.parent_id BETWEEN lives_below.job AND lives_below.job
            AND c.ended_at IS NULL ORDER BY c.parent_id LIMIT 1) IS NOT NULL OR EXISTS (
        WITH RECURSIVE down AS (
            SELECT c.id, c.ended_at FROM tenant.job AS c WHERE c.parent_id = lives_below.job
            UNION ALL
            SELECT c.id, c.ended_at FROM down CROSS JOIN LATERAL (
                SELECT j.id, j.ended_at FROM tenant.job AS j WHERE j.parent_id = down.id OFFSET 0) AS c
        )
        SELECT FROM down WHERE down.ended_at IS NULL);
END $$;
