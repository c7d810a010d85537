-- Return arguments as one short line that tells jobs apart: site=example.org pages=5.
CREATE OR REPLACE FUNCTION tenant.preview(args jsonb) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT left(CASE WHEN jsonb_typeof(args) = 'object' THEN (
        SELECT string_agg(a.key || '=' || left(a.value #>> '{}', 60), ' ') FROM jsonb_each(args) AS a)
        ELSE args #>> '{}' END, 160);
$$;
