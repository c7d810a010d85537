-- Return a record as users read it: what was asked, its steps, its members and their ends. A brief one names
-- no other job than the one that was stopped, and only the first of everything else.
CREATE OR REPLACE FUNCTION tenant.cancellation_report(
    stop bigint, again boolean DEFAULT false, brief boolean DEFAULT false
) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
        SELECT json_build_object(
            'cancellation_id', tenant.cancellation_name(c.id, c.intent),
            'job_id', c.root_id,
            'task_id', CASE WHEN c.job_id <> c.root_id THEN c.job_id END,
            'intent', c.intent, 'reason', c.reason, 'force', c.force, 'cascade', c."cascade",
            'grace', tenure.bounded_seconds(c.grace, {grace.max}),
            'ask_for', tenure.bounded_seconds(c.ask_for, {ask_for.max}), 'last_rung', c.last_rung,
            'rollback', c.rollback, 'rollback_tasks', to_json(c.rollback_tasks), 'rollback_jobs',
            to_json(c.rollback_jobs), 'preserve', c.preserve, 'strategy', c.strategy,
            'initiated_at', c.initiated_at, 'initiated_by', c.initiated_by,
            'status', c.status, 'completed_at', c.completed_at, 'error', c.error, 'again', again,
            'progress', (SELECT json_agg(json_build_object('step_name', s.name, 'status', s.status,
                'started_at', s.started_at, 'completed_at', s.completed_at, 'details', s.details,
                'error', s.error)
                ORDER BY s.place) FROM tenant.step AS s WHERE s.stop_id = c.id),
            'job_became', m.job_became,
            'tasks_cancelled', m.cancelled, 'tasks_completed', m.completed, 'tasks_open', m.open,
            'attempts_ended', m.attempts, 'runners_terminated', m.runners, 'slots_released', (
                SELECT coalesce(json_agg(x.slot ORDER BY x.slot), '[]') FROM (
                    SELECT unnest(b.slots) AS slot FROM tenant.member AS b WHERE b.stop_id = c.id
                    ORDER BY slot LIMIT CASE WHEN brief THEN 10 END) AS x),
            'partials_preserved', coalesce((SELECT (s.details ->> 'partials')::bigint FROM tenant.step AS s
                WHERE s.stop_id = c.id AND s.name = 'preserve_artifacts'), 0),
            'artifacts_preserved', (
                SELECT coalesce(json_agg(x.name ORDER BY x.job_id, x.name), '[]') FROM (
                    SELECT a.job_id, a.job_id || '/' || a.name AS name
                    FROM tenant.member AS b JOIN tenant.artifact AS a ON a.job_id = b.job_id
                    WHERE b.stop_id = c.id ORDER BY a.job_id, a.name
                    LIMIT CASE WHEN brief THEN 10 END) AS x),
            'errors', (SELECT coalesce(json_agg(x.error), '[]') FROM (
                SELECT b.error FROM tenant.member AS b WHERE b.stop_id = c.id AND b.error IS NOT NULL
                UNION ALL SELECT s.error FROM tenant.step AS s WHERE s.stop_id = c.id AND s.error IS NOT NULL
                UNION ALL SELECT c.error WHERE c.error IS NOT NULL LIMIT CASE WHEN brief THEN 10 END) AS x),
            'duration_seconds',
                tenure.seconds_between(c.initiated_at, coalesce(c.completed_at, tenure.now())),
            'success', c.status = 'completed')
        FROM tenant.cancellation AS c
        CROSS JOIN LATERAL (
            SELECT
                min(b.became) FILTER (WHERE b.job_id = c.job_id) AS job_became,
                coalesce(json_agg(b.job_id ORDER BY b.job_id)
                    FILTER (WHERE b.job_id <> c.job_id AND b.became IN ('cancelled', 'paused')),
                        '[]') AS cancelled, coalesce(json_agg(b.job_id ORDER BY b.job_id)
                    FILTER (WHERE b.job_id <> c.job_id AND b.became = 'completed'), '[]') AS completed,
                coalesce(json_agg(b.job_id ORDER BY b.job_id)
                    FILTER (WHERE b.job_id <> c.job_id AND b.became IS NULL), '[]') AS open,
                json_build_object(
                    'asked', count(*) FILTER (WHERE b.was_ended AND b.rung = 'asked'),
                    'interrupted', count(*) FILTER (WHERE b.was_ended AND b.rung = 'interrupted'),
                    'terminated', count(*) FILTER (WHERE b.was_ended AND b.rung = 'terminated'),
                    'killed', count(*) FILTER (WHERE b.was_ended AND b.rung = 'killed'),
                    'expired', count(*) FILTER (WHERE b.was_ended AND b.rung = 'expired')) AS attempts,
                coalesce(json_agg(DISTINCT coalesce(b.runner, b.worker_id::text)) FILTER (WHERE b.was_ended),
                    '[]') AS runners
            FROM (SELECT o.*, o.was = 'running' AND o.became IS NOT NULL
                AND o.became <> 'completed' AS was_ended
                  FROM tenant.member AS o
                  WHERE o.stop_id = c.id AND (NOT brief OR o.job_id = c.job_id)) AS b) AS m
        WHERE c.id = stop);
END $$;
