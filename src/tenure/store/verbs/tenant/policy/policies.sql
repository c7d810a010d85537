-- List policies by name: what each stops and when, its last check, and the result of that.
CREATE OR REPLACE FUNCTION tenant.policies() RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(json_agg(p ORDER BY p.name), '[]') FROM tenant.policy AS p;
$$;
