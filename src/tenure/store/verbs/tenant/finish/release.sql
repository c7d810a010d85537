-- Release jobs unfinished: they spend no attempt and keep their position.
CREATE OR REPLACE FUNCTION tenant.release(worker uuid, jobs jsonb) RETURNS json
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT tenant.conclude((
        SELECT coalesce(jsonb_agg(j || '{"outcome": "released"}'), '[]')
        FROM jsonb_array_elements(jobs) AS j), worker);
$$;
