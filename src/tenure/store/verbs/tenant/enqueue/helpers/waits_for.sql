-- Return these jobs and everything that must end before they can.
CREATE OR REPLACE FUNCTION tenant.waits_for(ids bigint[]) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    RETURN ARRAY(
        WITH RECURSIVE first AS (
            SELECT unnest(ids) AS id
            UNION
            SELECT n.id FROM first CROSS JOIN LATERAL (
                SELECT e.needs_id AS id FROM tenant.edge AS e WHERE e.job_id = first.id
                UNION ALL
                SELECT c.id FROM tenant.job AS c JOIN tenant.job AS g ON g.id = c.parent_id
                WHERE c.parent_id = first.id AND g.waiting = 'tasks') AS n
        )
        SELECT first.id FROM first);
END $$;
