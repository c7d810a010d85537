-- Return the ancestors of these jobs, and the dependencies of the new ones among them, that have been
-- pruned.
CREATE OR REPLACE FUNCTION tenant.pruned_jobs(ids bigint[], unchecked bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    RETURN ARRAY(
        SELECT n.id FROM (
            SELECT e.needs_id AS id FROM tenant.edge AS e WHERE e.job_id = ANY (unchecked)
            UNION ALL SELECT a.id FROM unnest(ids) AS o(id)
            CROSS JOIN LATERAL unnest(tenant.ancestors(o.id)) AS a(id)) AS n
        WHERE (SELECT true FROM tenant.job AS j WHERE j.id = n.id) IS NULL);
END $$;
