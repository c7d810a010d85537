-- Return who is connected without a token: name, role and tenant.
CREATE OR REPLACE FUNCTION tenant.whoami() RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT json_build_object('name', tenure.actor(NULL), 'role', tenant.role_of(NULL), 'tenant', '{tenant}');
$$;
