-- Return what metrics need of a tenant: live jobs by queue and status; stops and their durations;
-- recoveries and refusals; workers, and queues without any.
--
-- Exact, and cheap if few jobs are alive: ended jobs are not read (workers count what they end), and closed
-- records were added to the tally before (add_to_tally). The oldest job of a queue is the first of one of
-- its lanes and priorities. A stop is overdue when it is open for longer than its grace, or "grace" if it
-- has none of its own, and half a minute.
CREATE OR REPLACE FUNCTION tenant.totals(grace interval DEFAULT '30 seconds') RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
{index_scans} AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    recent CONSTANT bigint[] := ARRAY(SELECT c.id FROM tenant.cancellation AS c WHERE NOT c.tallied);
    alive  json;
    lost   bigint;
BEGIN
    WITH RECURSIVE head AS (
        (SELECT j.lane, j.priority, j.run_at FROM tenant.job AS j WHERE j.ready
            ORDER BY j.lane, j.priority, j.position LIMIT 1)
        UNION ALL
        SELECT f.* FROM head AS h CROSS JOIN LATERAL (
            SELECT j.lane, j.priority, j.run_at FROM tenant.job AS j
            WHERE j.ready AND (j.lane, j.priority) > (h.lane, h.priority)
            ORDER BY j.lane, j.priority, j.position LIMIT 1) AS f
    ), ready AS (
        SELECT r.lane, 'queued' AS status, r.n,
            (SELECT min(h.run_at) FROM head AS h WHERE h.lane = r.lane) AS since
        FROM (SELECT j.lane, count(*) AS n FROM tenant.job AS j WHERE j.ready GROUP BY j.lane) AS r
    ), other AS (
        SELECT j.* FROM tenant.job AS j WHERE j.state = 'running'
        UNION ALL SELECT j.* FROM tenant.job AS j WHERE j.waiting IN ('time', 'event', 'answer')
        UNION ALL SELECT j.* FROM tenant.job AS j WHERE j.waiting = 'target'
        UNION ALL SELECT j.* FROM tenant.job AS j WHERE j.waiting = 'limit'
        UNION ALL SELECT j.* FROM tenant.job AS j
            WHERE j.state = 'paused'
              OR j.waiting IN ('unqueued', 'promotion', 'dependencies', 'tasks', 'children')
        UNION ALL SELECT j.* FROM tenant.job AS j WHERE j.waiting = 'task' AND j.id = ANY (ARRAY(
            SELECT u.job_id FROM tenant.unannounced AS u WHERE u.task IS NOT NULL))
    ), alike AS (
        SELECT o.lane, o.state, o.waiting, least(o.attempt, 1::smallint) AS attempt, o.stop_id, o.worker_id,
            count(*) AS n,
            min(CASE WHEN o.state = 'running' THEN o.started_at
                ELSE coalesce(o.run_at, o.created_at) END) AS since
        FROM other AS o GROUP BY 1, 2, 3, 4, 5, 6
    ), counted AS (
        SELECT * FROM ready
        UNION ALL
        SELECT a.lane, tenure.status(a.state, a.waiting, a.attempt,
                (SELECT s.intent FROM tenant.cancellation AS s WHERE s.id = a.stop_id),
                coalesce((SELECT w.draining_at IS NOT NULL FROM tenure.worker AS w WHERE w.id = a.worker_id),
                    false)), a.n, a.since
        FROM alike AS a
    )
    SELECT json_agg(json_build_object('queue', q.queue, 'status', q.status, 'n', q.n,
        'oldest_seconds', greatest(tenure.seconds_between(q.since, now_ts), 0), 'served', q.served))
            INTO alive
    FROM (
        SELECT l.queue, c.status, sum(c.n) AS n, min(c.since) AS since, EXISTS (
            SELECT FROM tenure.worker AS w
            WHERE w.dead_at IS NULL AND w.left_at IS NULL AND w.draining_at IS NULL
              AND w.expires_at > now_ts AND (w.queues IS NULL OR l.queue = ANY (w.queues))) AS served
        FROM counted AS c JOIN tenant.lane AS l ON l.id = c.lane GROUP BY l.queue, c.status) AS q;

    -- Workers that hold jobs, one probe each: the jobs of live workers are not read.
    WITH RECURSIVE holder AS (
        (SELECT j.worker_id FROM tenant.job AS j WHERE j.state = 'running' ORDER BY j.worker_id LIMIT 1)
        UNION ALL
        SELECT (SELECT j.worker_id FROM tenant.job AS j
            WHERE j.state = 'running' AND j.worker_id > holder.worker_id
                ORDER BY j.worker_id LIMIT 1)
        FROM holder WHERE holder.worker_id IS NOT NULL
    )
    SELECT sum((SELECT count(*) FROM tenant.job AS j WHERE j.state = 'running' AND j.worker_id = h.worker_id))
    INTO lost
    FROM holder AS h LEFT JOIN tenure.worker AS w ON w.id = h.worker_id
    WHERE h.worker_id IS NOT NULL AND (w.id IS NULL OR w.dead_at IS NOT NULL OR w.expires_at < now_ts);

    RETURN json_build_object(
        'jobs', coalesce(alive, '[]'),
        'unrunnable', tenant.unrunnable(),
        'zombies', coalesce(lost, 0),
        'paused', (SELECT coalesce(json_agg(p.name), '[]') FROM tenant.pause AS p
            WHERE p.subject IN ('queue', 'tenant')),
        'workers', (SELECT coalesce(json_object_agg(w.status, w.n), '{}') FROM (
            SELECT CASE WHEN w.expires_at < now_ts THEN 'late'
                WHEN w.draining_at IS NOT NULL THEN 'draining' ELSE 'alive' END AS status, count(*) AS n
            FROM tenure.worker AS w WHERE w.dead_at IS NULL AND w.left_at IS NULL GROUP BY 1) AS w),
        'overdue', (SELECT count(*) FROM tenant.cancellation AS c WHERE c.completed_at IS NULL
            AND tenure.seconds_between(c.initiated_at, now_ts) > extract(epoch FROM interval '30 seconds'
                + CASE WHEN c.force THEN interval '0'
                    ELSE least(coalesce(c.grace, totals.grace), {grace.max}) END)),
        'tally', (SELECT coalesce(
            json_agg(json_build_object('kind', t.kind, 'labels', t.labels, 'bucket', t.bucket, 'n', t.n,
                'seconds', t.seconds)), '[]') FROM (
            SELECT t.kind, t.labels, t.bucket, sum(t.n) AS n, sum(t.seconds) AS seconds FROM (
                SELECT * FROM tenant.tally
                UNION ALL SELECT * FROM tenant.tally_of(recent)
                UNION ALL SELECT 'event', ARRAY[e.kind], 0, count(*), 0 FROM tenant.event AS e
                    WHERE e.kind IN ('refused', 'recovered') GROUP BY e.kind) AS t
            GROUP BY t.kind, t.labels, t.bucket) AS t),
        'bounds', tenant.tally_bounds(),
        'deliveries_pending', (SELECT count(*) FROM tenant.delivery AS d WHERE d.due_at IS NOT NULL),
        'webhooks_failing', (SELECT count(*) FROM tenant.webhook AS w
            WHERE w.disabled IS NOT NULL OR w.failing_since IS NOT NULL));
END $$;
