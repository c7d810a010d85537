-- List strategies: named sets of stop options.
CREATE OR REPLACE FUNCTION tenant.strategies() RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(json_agg(s ORDER BY s.name), '[]') FROM tenant.strategy AS s;
$$;
