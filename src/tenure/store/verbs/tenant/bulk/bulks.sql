-- List bulk operations, newest first.
CREATE OR REPLACE FUNCTION tenant.bulks(n integer DEFAULT 10) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(json_agg(b), '[]')
    FROM (SELECT b.* FROM tenant.bulk AS b ORDER BY b.id DESC LIMIT least(greatest(n, 1), 1000)) AS b;
$$;
