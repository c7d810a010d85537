-- Return every reason why a job is not running, or not stopping, as data and as a sentence.
CREATE OR REPLACE FUNCTION tenant.explain(job bigint) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    j       tenant.jobs;
    lane    tenant.lane;
    reasons jsonb;
BEGIN
    SELECT v.* INTO j FROM tenant.jobs AS v WHERE v.id = explain.job AND tenant.can_see_job(explain.job);
    IF NOT FOUND THEN
        PERFORM tenant.refuse_verb(explain.job, 'explain');
    END IF;
    SELECT l.* INTO lane FROM tenant.job AS o JOIN tenant.lane AS l ON l.id = o.lane WHERE o.id = explain.job;
    SELECT coalesce(jsonb_agg(
        jsonb_build_object('reason', r.reason, 'sentence', r.sentence, 'about', r.about)), '[]') INTO reasons
        FROM (
        SELECT 'unqueued' AS reason, 'it was created but not queued' AS sentence,
            NULL::text AS about WHERE j.waiting = 'unqueued'
        UNION ALL SELECT 'task', CASE WHEN (tenant.known_task(j.task)).name IS NULL
                THEN format('task %L is not announced yet%s; start a worker that has it', j.task,
                    coalesce('; the nearest are ' || (SELECT string_agg(quote_literal(n), ', ')
                        FROM unnest(tenant.nearest_tasks(j.task)) AS n), '; no task at all is known here'))
                ELSE 'its task was announced just now, and a worker is about to apply its options' END, j.task
            WHERE j.waiting::text = 'task'
        UNION ALL SELECT 'promotion', 'it was enqueued just now and is about to become ready', NULL
        WHERE j.waiting = 'promotion'
        UNION ALL SELECT 'time',
            format(CASE WHEN j.attempt > 0 THEN 'it failed and is tried again at %s'
            ELSE 'it is scheduled for %s' END, date_trunc('second', j.run_at)), NULL
            WHERE j.waiting = 'time' AND NOT EXISTS (
                SELECT FROM tenant.job_step AS s WHERE s.job_id = j.id AND s.ended_at IS NULL)
        UNION ALL SELECT CASE s.kind WHEN 'question' THEN 'answer' WHEN 'event' THEN 'event' ELSE 'sleep' END,
            CASE s.kind WHEN 'question' THEN format('it waits for the answer to question %s: %s', s.id,
                    s.question ->> 'text')
                WHEN 'event' THEN format('it waits for event %L%s', s.event,
                    CASE WHEN s.key <> '' THEN format(' with key %L', s.key) ELSE '' END)
                ELSE 'it sleeps' END
            || coalesce(format(' (until %s)', date_trunc('second', s.due_at)), ''), s.id::text
            FROM tenant.job_step AS s WHERE s.job_id = j.id AND s.ended_at IS NULL AND j.state = 'pending'
        UNION ALL SELECT 'dependency', format('it comes after job %s, which is %s', n.id, n.status)
                || CASE WHEN n.state IN ('failed', 'cancelled') THEN ' and will not complete by itself'
                    ELSE '' END, n.id::text
            FROM tenant.edge AS e JOIN tenant.jobs AS n ON n.id = e.needs_id
            WHERE e.job_id = j.id AND j.state = 'pending'
        UNION ALL SELECT 'tasks',
            format('it waits for its children: %s of %s have ended',
            count(*) FILTER (WHERE c.ended_at IS NOT NULL), count(*)), NULL
            FROM tenant.job AS c WHERE c.parent_id = j.id
                AND j.waiting IN ('tasks', 'children') HAVING j.waiting IN ('tasks', 'children')
        UNION ALL SELECT 'target',
            format('its target %s is held by job %s, which is %s', j.target, b.id, b.status), b.id::text
            FROM tenant.job AS x JOIN tenant.jobs AS b ON b.id = x.id
            WHERE x.target = j.target AND x.blocks AND x.id <> j.id AND j.waiting = 'target'
        UNION ALL SELECT 'line', format('%s ahead of it for target %s', CASE count(*) WHEN 1 THEN '1 job is'
                ELSE count(*) || ' jobs are' END, j.target), NULL
            FROM tenant.job AS x WHERE x.target = j.target AND x.waiting = 'target' AND j.waiting = 'target'
                AND x.id <> j.id
              AND (x.priority > j.priority OR (x.priority = j.priority AND x.id < j.id)) HAVING count(*) > 0
        UNION ALL SELECT 'promotion',
            format('it is next for target %s and is about to become ready', j.target), NULL
            WHERE j.waiting = 'target'
              AND NOT EXISTS (SELECT FROM tenant.pause AS p WHERE p.subject = 'target' AND p.name = j.target)
              AND NOT EXISTS (SELECT FROM tenant.job AS x
                  WHERE x.target = j.target AND x.blocks AND x.id <> j.id)
              AND NOT EXISTS (SELECT FROM tenant.job AS x
                  WHERE x.target = j.target AND x.waiting = 'target' AND x.id <> j.id
                  AND (x.priority > j.priority OR (x.priority = j.priority AND x.id < j.id)))
        UNION ALL SELECT 'limit', tenant.limit_sentence(n.name, j.waiting = 'limit'), n.name
            FROM tenant.job AS o CROSS JOIN LATERAL unnest(o.limits) AS n(name)
            WHERE o.id = j.id AND j.state = 'pending'
              AND tenant.limit_sentence(n.name, j.waiting = 'limit') IS NOT NULL
        UNION ALL SELECT p.subject || ' paused',
            format('%s is paused by %s since %s%s', concat_ws(' ', 'the', p.subject, nullif(p.name, '')),
            p.paused_by, date_trunc('second', p.paused_at), coalesce(': ' || p.reason, '')), p.name
            FROM tenant.pause AS p
            WHERE j.state = 'pending'
              AND ((p.subject, p.name) IN (('tenant', ''), ('queue', j.queue),
              ('target', coalesce(j.target, '')))
                OR (p.subject = 'pool' AND p.name = ANY (lane.pools)))
        UNION ALL SELECT 'pool', format('no slot of pool %s is free', p.pool), p.pool
            FROM unnest(lane.pools) AS p(pool)
            WHERE j.state = 'pending'
              AND NOT EXISTS (SELECT FROM tenant.slot AS s WHERE s.pool = p.pool AND s.job_id IS NULL)
        UNION ALL SELECT 'no worker', format('no live worker serves the queue %s', j.queue), j.queue
            WHERE j.state = 'pending' AND j.task IS NOT NULL
              AND NOT EXISTS (SELECT FROM tenure.worker AS w WHERE w.dead_at IS NULL AND w.draining_at IS NULL
                AND w.expires_at > now_ts AND (w.queues IS NULL OR j.queue = ANY (w.queues)))
        UNION ALL SELECT 'no worker', format('no live worker has the task %L', j.task), j.task
            FROM tenant.job AS o WHERE o.id = j.id AND o.ready AND tenant.unserved(j.queue, j.task)
        UNION ALL SELECT 'no runner',
            format('worker %s on %s serves its queue and cannot start a runner: %s', w.id, w.host, w.trouble),
                w.id::text
            FROM tenant.job AS o JOIN tenure.worker AS w ON w.trouble IS NOT NULL AND w.dead_at IS NULL
                AND w.left_at IS NULL
                AND w.draining_at IS NULL AND w.expires_at > now_ts
                AND (w.queues IS NULL OR j.queue = ANY (w.queues))
            WHERE o.id = j.id AND o.ready
        UNION ALL SELECT 'turn', format('%s ahead of it in its queue', CASE count(*)
                WHEN 1 THEN '1 ready job is' ELSE count(*) || ' ready jobs are' END), NULL
            FROM tenant.job AS o JOIN tenant.job AS x ON x.ready AND x.id <> o.id
                AND (x.priority > o.priority OR (x.priority = o.priority AND x.position < o.position))
            JOIN tenant.lane AS l ON l.id = x.lane AND l.queue = j.queue
            WHERE o.id = j.id AND o.ready HAVING count(*) > 0
        UNION ALL SELECT 'stopping',
            format('%s asked to %s it (%s): %s; %s', s.initiated_by, s.intent,
            tenant.cancellation_name(s.id, s.intent), s.reason,
                CASE WHEN j.state = 'pending' THEN 'it ends when no job below it runs'
                     WHEN w.dead_at IS NOT NULL THEN 'its worker is dead; the next recovery ends it'
                     WHEN w.expires_at < now_ts
                         THEN 'its worker is silent and its lease has expired; the next recovery ends it'
                     WHEN m.reached ? 'delivered' THEN 'its worker knows: ' || (
                         SELECT string_agg(format('%s at %s', r.key, r.value #>> '{}'), ', '
                             ORDER BY r.value, r.key <> 'delivered')
                         FROM jsonb_each(m.reached) AS r)
                     ELSE format(
                         'its worker learns of it with its next heartbeat at the latest; its lease ends at '
                         '%s', date_trunc('second', w.expires_at)) END),
                tenant.cancellation_name(s.id, s.intent)
            FROM tenant.job AS o JOIN tenant.cancellation AS s ON s.id = o.stop_id
            LEFT JOIN tenure.worker AS w ON w.id = o.worker_id
            LEFT JOIN tenant.member AS m ON m.stop_id = o.stop_id AND m.job_id = o.id
            WHERE o.id = j.id AND o.state IN ('pending', 'running')
        UNION ALL SELECT 'suspect', format(
                'it is a suspect and runs alone: the process or the worker that ran it died %s',
                CASE o.crashes WHEN 1 THEN 'once' ELSE o.crashes || ' times' END), NULL
            FROM tenant.job AS o WHERE o.id = j.id AND o.alone AND o.state IN ('pending', 'running')
        UNION ALL SELECT 'below', format('job %s below it is %s', c.id, c.status), c.id::text
            FROM tenant.jobs AS c WHERE c.parent_id = j.id AND c.status IN ('cancelling', 'pausing')
                AND j.cancel_requested
        UNION ALL SELECT 'orphan',
            format('its worker %s has not renewed its lease since %s', j.worker_id,
            coalesce(date_trunc('second', j.heartbeat_at)::text, 'it started')), j.worker_id::text
            WHERE j.state = 'running' AND coalesce(j.lease_expires_at < now_ts, true)
        UNION ALL SELECT 'paused', format('it %s%s; resume it to continue',
                CASE WHEN j.cancelled_by IS NOT NULL THEN 'was paused by ' || j.cancelled_by
                     -- What a worker pauses, at a drain or over a budget, has an error.
                     WHEN j.cancellation_id IS NULL AND j.error IS NULL THEN 'paused itself'
                     ELSE 'was paused' END,
                coalesce(': ' || j.pause_reason, '')), NULL
                    WHERE j.state = 'paused'
        UNION ALL SELECT 'cancelled',
            format('it was cancelled%s%s', coalesce(' by ' || j.cancelled_by, ''),
            coalesce(': ' || j.cancellation_reason, '')), j.cancellation_id
            WHERE j.state = 'cancelled'
        UNION ALL SELECT 'failed',
            format('it failed after %s of %s attempts: %s', j.attempt, j.max_attempts,
            coalesce(j.error_message, 'no message')), NULL
            WHERE j.state = 'failed'
    ) AS r;
    RETURN json_build_object('job_id', j.id, 'status', j.status, 'reasons', reasons);
END $$;
