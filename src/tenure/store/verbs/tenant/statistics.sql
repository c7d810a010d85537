-- Counts by status and by queue, the oldest age, refused writes and recoveries.
CREATE OR REPLACE FUNCTION tenant.statistics() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    moment CONSTANT timestamptz := tenure.now();
BEGIN
    RETURN (
        WITH counted AS MATERIALIZED (
            SELECT l.queue, tenure.status(j.state, j.waiting, j.attempt, s.intent, w.draining_at IS NOT NULL) AS status,
                count(*) AS n, min(j.run_at) FILTER (WHERE j.ready) AS oldest
            FROM tenant.job AS j
            JOIN tenant.lane AS l ON l.id = j.lane
            LEFT JOIN tenant.cancellation AS s ON s.id = j.stop_id
            LEFT JOIN tenure.worker AS w ON w.id = j.worker_id
            GROUP BY 1, 2
        )
        SELECT json_build_object(
            'total', (SELECT coalesce(sum(c.n), 0) FROM counted AS c),
            'by_status', (SELECT coalesce(json_object_agg(c.status, c.n), '{}') FROM (
                SELECT c.status, sum(c.n) AS n FROM counted AS c GROUP BY c.status ORDER BY c.status) AS c),
            'queues', (SELECT coalesce(json_object_agg(q.queue, q.told), '{}') FROM (
                SELECT c.queue, json_build_object(
                    'by_status', json_object_agg(c.status, c.n),
                    'oldest_seconds', extract(epoch FROM moment - min(c.oldest)),
                    'paused', EXISTS (SELECT FROM tenant.pause AS p WHERE p.subject = 'queue' AND p.name = c.queue)) AS told
                FROM counted AS c GROUP BY c.queue ORDER BY c.queue) AS q),
            'refused', (SELECT count(*) FROM tenant.event AS e WHERE e.kind = 'refused'),
            'recovered', (SELECT count(*) FROM tenant.event AS e WHERE e.kind = 'recovered')));
END $$;
