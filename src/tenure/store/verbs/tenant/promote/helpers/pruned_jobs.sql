-- Return those of these ancestors, and of the dependencies of the unchecked jobs, that have been pruned.
CREATE OR REPLACE FUNCTION tenant.pruned_jobs(above bigint[], unchecked bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    RETURN ARRAY(
        SELECT n.id FROM (
            SELECT e.needs_id AS id FROM tenant.edge AS e WHERE e.job_id = ANY (unchecked)
            UNION ALL SELECT unnest(above)) AS n
        WHERE (SELECT true FROM tenant.job AS j WHERE j.id = n.id) IS NULL);
END $$;
