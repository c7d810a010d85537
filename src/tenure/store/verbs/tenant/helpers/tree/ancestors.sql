-- Return the parent of a job, its parent, and so on up to the root.
CREATE OR REPLACE FUNCTION tenant.ancestors(job bigint) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    RETURN ARRAY(
        WITH RECURSIVE up AS (
            SELECT j.parent_id AS id FROM tenant.job AS j WHERE j.id = ancestors.job
            UNION ALL
            SELECT j.parent_id FROM up CROSS JOIN LATERAL (
                SELECT o.parent_id FROM tenant.job AS o WHERE o.id = up.id LIMIT 1) AS j
        )
        SELECT up.id FROM up WHERE up.id IS NOT NULL);
END $$;
