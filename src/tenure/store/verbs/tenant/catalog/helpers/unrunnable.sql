-- Return tasks with jobs that cannot run: not announced, or in no live worker. A queue without any worker
-- is not counted here, because a worker may be about to start.
--
-- Ended jobs are not read, and of ready jobs that can run only the first of each lane: written as joins,
-- this was planned over the whole table while it was small, and such a plan stays when the table grows.
CREATE OR REPLACE FUNCTION tenant.unrunnable() RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{plain_index_scans} AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    RETURN (
        -- Count jobs only where they cannot run: there may be very many others.
        WITH busy AS MATERIALIZED (
            SELECT l.* FROM tenant.lane AS l
            WHERE l.task IS NOT NULL
              AND (SELECT true FROM tenant.job AS j WHERE j.lane BETWEEN l.id AND l.id AND j.ready
                ORDER BY j.lane, j.priority, j.position LIMIT 1)
        ), idle AS MATERIALIZED (
            SELECT b.* FROM busy AS b WHERE tenant.unserved(b.queue, b.task)
        )
        SELECT coalesce(json_agg(json_build_object('task', t.task, 'jobs', t.jobs, 'announced', t.announced,
            'oldest_seconds', tenure.seconds_between(t.since, now_ts), 'nearest', CASE WHEN NOT t.announced
                THEN to_json(tenant.nearest_tasks(t.task, 1)) ELSE '[]' END) ORDER BY t.task), '[]')
        FROM (
            SELECT u.task, count(*) AS jobs, min(j.created_at) AS since, false AS announced
            FROM tenant.unannounced AS u CROSS JOIN LATERAL (
                SELECT o.created_at FROM tenant.job AS o WHERE o.id = u.job_id AND o.waiting::text = 'task'
                LIMIT 1) AS j
            WHERE u.task IS NOT NULL AND (tenant.known_task(u.task)).name IS NULL GROUP BY u.task
            UNION ALL
            SELECT l.task, sum(r.jobs), min(r.since), true
            FROM idle AS l CROSS JOIN LATERAL (
                SELECT count(*) AS jobs, min(j.created_at) AS since FROM tenant.job AS j
                WHERE j.lane = l.id AND j.ready) AS r
            GROUP BY l.task) AS t);
END $$;
