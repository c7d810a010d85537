-- Return the known tasks whose names are most similar to this one, by the pairs of letters that they share.
CREATE OR REPLACE FUNCTION tenant.nearest_tasks(name text, n integer DEFAULT 3) RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    pairs CONSTANT text[] := ARRAY(SELECT DISTINCT lower(substr(name, i, 2))
        FROM generate_series(1, length(name) - 1) AS i);
BEGIN
    RETURN ARRAY(
        SELECT k.name FROM (SELECT DISTINCT t.name FROM tenure.task AS t
            WHERE t.tenant IN ('', '{tenant}')) AS k
        CROSS JOIN LATERAL (
            SELECT count(*) FILTER (WHERE p.pair = ANY (pairs)) AS same, count(*) AS own FROM (
                SELECT DISTINCT lower(substr(k.name, i, 2)) AS pair
                FROM generate_series(1, length(k.name) - 1) AS i) AS p
        ) AS c
        WHERE c.same > 0
        ORDER BY c.same::float8 / (c.own + cardinality(pairs) - c.same) DESC, k.name LIMIT n);
END $$;
