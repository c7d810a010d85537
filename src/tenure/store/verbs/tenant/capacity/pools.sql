-- List pools with their slots and the jobs that hold them, and whether they are paused.
CREATE OR REPLACE FUNCTION tenant.pools(pool text DEFAULT NULL) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(json_agg(json_build_object('name', p.name, 'created_at', p.created_at,
        'paused', EXISTS (SELECT FROM tenant.pause AS b WHERE b.subject = 'pool' AND b.name = p.name),
        'slots', (
        SELECT coalesce(json_agg(json_build_object('name', s.name, 'job_id', s.job_id, 'held_at', s.held_at)
            ORDER BY s.name), '[]')
        FROM tenant.slot AS s WHERE s.pool = p.name)) ORDER BY p.name), '[]')
    FROM tenant.pool AS p WHERE pools.pool IS NULL OR p.name = pools.pool;
$$;
