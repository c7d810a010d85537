-- Return what is wrong with a tenant's jobs, and the sizes of its tables: for operators.
--
-- "lost" are running jobs whose worker is silent or unknown, "unserved" queues with ready jobs and no
-- worker, "unrunnable" tasks with waiting jobs that no live worker has, "unclean" jobs that ended within
-- a day and left a resource open. It reads the table of jobs.
CREATE OR REPLACE FUNCTION tenant.diagnose() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    RETURN json_build_object(
        'lost', (
            SELECT json_build_object('jobs', count(*),
                'ids', coalesce((array_agg(j.id ORDER BY j.id))[:5], '{}'))
            FROM tenant.job AS j LEFT JOIN tenure.worker AS w ON w.id = j.worker_id
            WHERE j.state = 'running' AND (w.id IS NULL OR w.expires_at < now_ts OR w.dead_at IS NOT NULL)),
        'unserved', (
            SELECT coalesce(json_agg(json_build_object('queue', q.queue, 'jobs', q.jobs,
                'oldest_seconds', tenure.seconds_between(q.since, now_ts)) ORDER BY q.queue), '[]')
            FROM (
                SELECT l.queue, count(*) AS jobs, min(j.run_at) AS since
                FROM tenant.job AS j JOIN tenant.lane AS l ON l.id = j.lane
                WHERE j.ready AND l.task IS NOT NULL GROUP BY l.queue) AS q
            WHERE NOT EXISTS (SELECT FROM tenant.pause AS p
                WHERE (p.subject, p.name) IN (('tenant', ''), ('queue', q.queue)))
              AND NOT EXISTS (
                SELECT FROM tenure.worker AS w
                WHERE w.dead_at IS NULL AND w.left_at IS NULL AND w.draining_at IS NULL
                  AND w.expires_at > now_ts AND (w.queues IS NULL OR q.queue = ANY (w.queues)))),
        'unrunnable', tenant.unrunnable(),
        'unclean', (
            SELECT json_build_object('jobs', count(*),
                'ids', coalesce((array_agg(j.id ORDER BY j.id DESC))[:5], '{}'))
            FROM tenant.job AS j JOIN tenant.outcome AS o ON o.job_id = j.id
            WHERE j.ended_at > now_ts - interval '1 day'
              AND CASE WHEN jsonb_typeof(o.cleanup -> 'failed') = 'array' THEN o.cleanup -> 'failed' <> '[]'
                  ELSE false END), 'ended', (
            SELECT coalesce(json_object_agg(e.state, json_build_object('jobs', e.jobs, 'oldest_seconds',
                tenure.seconds_between(e.oldest, now_ts))), '{}')
            FROM (SELECT j.state, count(*) AS jobs, min(j.ended_at) AS oldest FROM tenant.job AS j
                  WHERE j.ended_at IS NOT NULL GROUP BY j.state) AS e),
        'tables', (
            SELECT json_agg(json_build_object('name', t.relname, 'rows', t.n_live_tup, 'dead', t.n_dead_tup,
                'bytes', pg_total_relation_size(t.relid)) ORDER BY t.relname)
            FROM pg_stat_all_tables AS t
            WHERE t.schemaname = (SELECT x.schemaname FROM pg_stat_all_tables AS x
                WHERE x.relid = 'tenant.job'::regclass)
              AND t.relname IN ('job', 'payload', 'outcome', 'cancellation', 'event', 'log', 'partial',
                  'audit')));
END $$;
