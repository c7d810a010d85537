-- The living keeper's word that a runner died under these jobs: an attempt is spent and a crash
-- counted, and no lease has to be over.
CREATE OR REPLACE FUNCTION tenant.crash(worker uuid, jobs jsonb) RETURNS json
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT tenant.conclude((
        SELECT coalesce(jsonb_agg(j || '{"outcome": "crashed"}'), '[]') FROM jsonb_array_elements(jobs) AS j),
            worker);
$$;
