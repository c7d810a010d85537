-- Report that a runner died while it ran these jobs: each spends an attempt and counts a crash, and no
-- lease has to expire. For a live worker.
CREATE OR REPLACE FUNCTION tenant.crash(worker uuid, jobs jsonb) RETURNS json
LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT tenant.conclude((
        SELECT coalesce(jsonb_agg(j || '{"outcome": "crashed"}'), '[]') FROM jsonb_array_elements(jobs) AS j),
            worker);
$$;
