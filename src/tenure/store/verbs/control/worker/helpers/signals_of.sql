-- Return the signals about jobs that a worker holds, in order.
CREATE OR REPLACE FUNCTION tenure.signals_of(worker uuid) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT coalesce(json_agg(json_build_object(
            'id', s.id, 'tenant', s.tenant, 'job_id', s.job_id, 'token', s.token, 'orders', s.orders)
                ORDER BY s.id), '[]')
        FROM tenure.signal AS s WHERE s.worker_id = worker);
END $$;
