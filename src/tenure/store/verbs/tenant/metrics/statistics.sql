-- Return counts by status and by queue, the oldest age, refused writes and recoveries.
CREATE OR REPLACE FUNCTION tenant.statistics() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    RETURN (
        -- Group equal jobs first: to compute the status of each of a million jobs would take half a minute.
        WITH alike AS (
            SELECT j.lane, j.state, j.waiting, least(j.attempt, 1::smallint) AS attempt,
                CASE WHEN j.state IN ('pending', 'running', 'paused') THEN j.stop_id END AS stop_id,
                    j.worker_id, count(*) AS n, min(j.run_at) FILTER (WHERE j.ready) AS oldest
            FROM tenant.job AS j GROUP BY 1, 2, 3, 4, 5, 6
        ), counted AS MATERIALIZED (
            SELECT l.queue, tenure.status(a.state, a.waiting, a.attempt, s.intent,
                w.draining_at IS NOT NULL) AS status, sum(a.n) AS n, min(a.oldest) AS oldest
            FROM alike AS a
            JOIN tenant.lane AS l ON l.id = a.lane
            LEFT JOIN tenant.cancellation AS s ON s.id = a.stop_id
            LEFT JOIN tenure.worker AS w ON w.id = a.worker_id
            GROUP BY 1, 2
        )
        SELECT json_build_object(
            'total', (SELECT coalesce(sum(c.n), 0) FROM counted AS c),
            'by_status', (SELECT coalesce(json_object_agg(c.status, c.n), '{}') FROM (
                SELECT c.status, sum(c.n) AS n FROM counted AS c GROUP BY c.status ORDER BY c.status) AS c),
            'queues', (SELECT coalesce(json_object_agg(q.queue, q.counts), '{}') FROM (
                SELECT c.queue, json_build_object(
                    'by_status', json_object_agg(c.status, c.n),
                    'oldest_seconds', tenure.seconds_between(min(c.oldest), now_ts),
                    'paused', EXISTS (SELECT FROM tenant.pause AS p
                        WHERE p.subject = 'queue' AND p.name = c.queue)) AS counts
                FROM counted AS c GROUP BY c.queue ORDER BY c.queue) AS q),
            'refused', (SELECT count(*) FROM tenant.event AS e WHERE e.kind = 'refused'),
            'recovered', (SELECT count(*) FROM tenant.event AS e WHERE e.kind = 'recovered')));
END $$;
