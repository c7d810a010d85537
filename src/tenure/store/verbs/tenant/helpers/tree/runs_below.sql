-- Return whether any descendant of a job is running; searched as in lives_below.
CREATE OR REPLACE FUNCTION tenant.runs_below(job bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    RETURN (SELECT true FROM tenant.job AS c WHERE c.parent_id BETWEEN runs_below.job AND runs_below.job
            AND c.ended_at IS NULL AND c.state::text = 'running' ORDER BY c.parent_id LIMIT 1) IS NOT NULL
            OR EXISTS (
        WITH RECURSIVE down AS (
            SELECT c.id, c.state FROM tenant.job AS c WHERE c.parent_id = runs_below.job
            UNION ALL
            SELECT c.id, c.state FROM down CROSS JOIN LATERAL (
                -- "OFFSET 0": one probe each; as a join this was quadratic in the children of a job.
                SELECT j.id, j.state FROM tenant.job AS j WHERE j.parent_id = down.id OFFSET 0) AS c
        )
        SELECT FROM down WHERE down.state = 'running');
END $$;
