-- Return the ancestors of all these jobs. A parent that many of them share is followed once.
CREATE OR REPLACE FUNCTION tenant.ancestors_of(ids bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    RETURN ARRAY(
        WITH RECURSIVE up AS (
            SELECT j.parent_id AS id FROM tenant.job AS j WHERE j.id = ANY (ids)
            UNION
            SELECT j.parent_id FROM up CROSS JOIN LATERAL (
                SELECT o.parent_id FROM tenant.job AS o WHERE o.id = up.id LIMIT 1) AS j
        )
        SELECT up.id FROM up WHERE up.id IS NOT NULL);
END $$;
