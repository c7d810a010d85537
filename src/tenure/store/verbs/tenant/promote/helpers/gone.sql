-- What these jobs are a part of, or those that are new come after, and which has been pruned.
CREATE OR REPLACE FUNCTION tenant.gone(ids bigint[], young bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    RETURN ARRAY(
        SELECT n.id FROM (
            SELECT e.needs_id AS id FROM tenant.edge AS e WHERE e.job_id = ANY (young)
            UNION ALL SELECT a.id FROM unnest(ids) AS o(id)
            CROSS JOIN LATERAL unnest(tenant.ancestors(o.id)) AS a(id)) AS n
        WHERE (SELECT true FROM tenant.job AS j WHERE j.id = n.id) IS NULL);
END $$;
