-- Return the work of this tenant by queue and task: what is ready and what runs, how many of the ready jobs
-- a worker could start, and how many workers all of that fills; for scale.
--
-- A job that is expected to take r seconds, and may wait for w more, fills the share 1 / (1 + floor(w / r))
-- of a slot: one slot can begin so many such jobs one after the other. What has waited long may wait for
-- less, though never less than a quarter of "within". What runs fills a slot each, except on workers that
-- drain. Run times are those that workers measured; jobs that run for longer now count with that.
--
-- Ready jobs do not count where no worker could start them: while their queue, pool or tenant is paused, if
-- live workers serve the queue and none has the task, beyond the free slots of their pools, and beyond the
-- room of their limits, of which the first thousand jobs of a queue and task are an example. Jobs in line
-- for a target, a limit, a time or another job are not ready. Queues and tasks that share a pool are each
-- counted up to its free slots.
CREATE OR REPLACE FUNCTION tenant.backlog(queues text[], tasks text[], "within" interval)
RETURNS TABLE (
    queue text, task text, kind text, ready bigint, startable bigint, running bigint,
    oldest_seconds double precision, run_seconds double precision, slots double precision,
    capacity double precision, workers double precision, held_back text
)
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} SET jit = off AS $$
#variable_conflict use_column
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    span   CONSTANT double precision := extract(epoch FROM backlog."within");
    paused CONSTANT boolean := EXISTS (SELECT FROM tenant.pause AS p WHERE p.subject = 'tenant');
BEGIN
    RETURN QUERY
    WITH waiting AS MATERIALIZED (
        SELECT j.lane, count(*) AS n FROM tenant.job AS j WHERE j.ready GROUP BY j.lane
    ), busy AS MATERIALIZED (
        SELECT j.lane, count(*) AS n, max(tenure.seconds_between(j.started_at, now_ts)) AS longest
        FROM tenant.job AS j
        WHERE j.state = 'running' AND NOT EXISTS (SELECT FROM tenure.worker AS w
            WHERE w.id = j.worker_id AND w.draining_at IS NOT NULL AND w.dead_at IS NULL)
        GROUP BY j.lane
    ), lane AS MATERIALIZED (
        SELECT l.*, coalesce(r.n, 0) AS ready, coalesce(b.n, 0) AS running, b.longest,
            -- The last in line has waited longest, as a rule: the first of the lowest priority.
            greatest(tenure.seconds_between((SELECT o.run_at FROM tenant.job AS o
                WHERE o.ready AND o.lane = l.id ORDER BY o.priority, o.position LIMIT 1), now_ts), 0)
                AS oldest,
            CASE WHEN paused THEN 'the tenant is paused'
                WHEN EXISTS (SELECT FROM tenant.pause AS p WHERE p.subject = 'queue' AND p.name = l.queue)
                    THEN format('the queue %s is paused', l.queue)
                WHEN EXISTS (SELECT FROM tenant.pause AS p
                    WHERE p.subject = 'pool' AND p.name = ANY (l.pools))
                    THEN format('a pool of %s is paused', array_to_string(l.pools, ', '))
                WHEN tenant.unserved(l.queue, l.task) THEN format('no live worker has the task %s', l.task)
            END AS closed,
            (SELECT min(free.n) FROM unnest(l.pools) AS p(pool) CROSS JOIN LATERAL (
                SELECT count(*) AS n FROM tenant.slot AS s
                WHERE s.pool = p.pool AND s.job_id IS NULL) AS free) AS slots_free
        FROM tenant.lane AS l LEFT JOIN waiting AS r ON r.lane = l.id LEFT JOIN busy AS b ON b.lane = l.id
        WHERE l.task IS NOT NULL AND (r.n > 0 OR b.n > 0)
          AND (backlog.queues IS NULL OR l.queue = ANY (backlog.queues))
          AND (backlog.tasks IS NULL OR l.task = ANY (backlog.tasks))
    ), gated AS (
        SELECT l.*, least(l.ready, l.slots_free, CASE WHEN l.limited AND l.closed IS NULL THEN (
            SELECT sum(least(ceil(g.n * l.ready / g.read), tenant.limits_room(g.limits, backlog."within")))
            FROM (SELECT f.limits, count(*)::numeric AS n, sum(count(*)) OVER () AS read
                FROM (SELECT j.limits FROM tenant.job AS j WHERE j.ready AND j.lane = l.id
                    ORDER BY j.priority DESC, j.position LIMIT 1000) AS f
                GROUP BY f.limits) AS g) END) AS room
        FROM lane AS l
    ), known AS (
        SELECT g.queue, g.task, CASE (tenant.known_task(g.task)).executor
                WHEN 'async' THEN 'async' WHEN 'thread' THEN 'thread' ELSE 'process' END AS kind,
            sum(g.ready)::bigint AS ready, sum(g.running)::bigint AS running,
            sum(CASE WHEN g.closed IS NULL THEN floor(g.room) ELSE 0 END)::bigint AS startable,
            max(g.oldest) AS oldest, max(g.longest) AS longest, CASE
                WHEN max(g.closed) IS NOT NULL THEN max(g.closed)
                WHEN bool_or(g.slots_free < g.ready) THEN 'a pool has no more free slots'
                WHEN bool_or(g.room < g.ready) THEN 'a limit has no more room' END AS held_back
        FROM gated AS g GROUP BY g.queue, g.task
    ), measured AS (
        -- The workers that served the queue last: how many jobs one of them runs at once.
        SELECT k.*, (
            SELECT avg((w.capacity ->> k.kind)::double precision) FROM (
                SELECT s.capacity FROM tenure.worker AS s
                WHERE s.capacity ? k.kind AND (s.queues IS NULL OR k.queue = ANY (s.queues))
                  AND (s.tenants IS NULL OR '{tenant}' = ANY (s.tenants))
                ORDER BY s.dead_at IS NOT NULL, s.beat_at DESC LIMIT 20) AS w) AS capacity,
            greatest((SELECT avg((w.run_times ->> k.task)::double precision) FROM (
                SELECT s.run_times FROM tenure.worker AS s WHERE s.run_times ? k.task
                ORDER BY s.dead_at IS NOT NULL, s.beat_at DESC LIMIT 20) AS w), k.longest) AS seconds
        FROM known AS k
    ), filled AS (
        SELECT m.*, greatest(m.running, (m.startable + m.running) / (1 + floor(
            greatest(span - m.oldest, span / 4) / greatest(m.seconds, 0.001)))) AS slots
        FROM measured AS m
    )
    SELECT f.queue, f.task, f.kind, f.ready, f.startable, f.running, f.oldest, f.seconds, f.slots, f.capacity,
        -- Of a queue that no worker served yet, the first one shows how much a worker runs.
        coalesce(f.slots / f.capacity, f.slots / nullif(sum(f.slots) OVER (PARTITION BY f.queue), 0), 0),
        CASE WHEN f.startable < f.ready THEN f.held_back END
    FROM filled AS f;
END $$;
