-- Return the number of the newest migration of the control schema and of the default tenant. Every
-- migration of another tenant brings these two up to date first, so a program can see here that it is too
-- old.
CREATE OR REPLACE FUNCTION tenure.newest_migrations() RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT json_build_object(
        'control', coalesce(max(m.number) FILTER (WHERE m.scope = ''), 0),
        'tenant', coalesce(max(m.number) FILTER (WHERE m.scope = 'default'), 0))
    FROM tenure.migration AS m WHERE m.scope IN ('', 'default');
$$;
