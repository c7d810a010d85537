-- A record as people read it: what was asked, its steps, its members and what came of them.
CREATE OR REPLACE FUNCTION tenant.cancellation_report(stop bigint, again boolean DEFAULT false) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
        SELECT json_build_object(
            'cancellation_id', tenant.cancellation_name(c.id),
            'job_id', c.root_id,
            'task_id', CASE WHEN c.job_id <> c.root_id THEN c.job_id END,
            'intent', c.intent, 'reason', c.reason, 'force', c.force, 'cascade', c."cascade",
            'grace', extract(epoch FROM c.grace), 'ask_for', extract(epoch FROM c.ask_for), 'last_rung', c.last_rung,
            'rollback', c.rollback, 'rollback_tasks', to_json(c.rollback_tasks), 'rollback_jobs', to_json(c.rollback_jobs),
            'preserve', c.preserve, 'strategy', c.strategy,
            'initiated_at', c.initiated_at, 'initiated_by', c.initiated_by,
            'status', c.status, 'completed_at', c.completed_at, 'error', c.error, 'again', again,
            'progress', (SELECT json_agg(json_build_object('step_name', s.name, 'status', s.status,
                'started_at', s.started_at, 'completed_at', s.completed_at, 'details', s.details, 'error', s.error)
                ORDER BY s.place) FROM tenant.step AS s WHERE s.stop_id = c.id),
            'tasks_cancelled', m.cancelled, 'tasks_completed', m.completed, 'tasks_open', m.open,
            'runners_terminated', m.runners, 'slots_released', (
                SELECT coalesce(json_agg(x.slot ORDER BY x.slot), '[]') FROM (
                    SELECT unnest(b.slots) AS slot FROM tenant.member AS b WHERE b.stop_id = c.id) AS x),
            'artifacts_preserved', (SELECT coalesce(json_agg(a.job_id || '/' || a.name ORDER BY a.job_id, a.name), '[]')
                FROM tenant.member AS b JOIN tenant.artifact AS a ON a.job_id = b.job_id WHERE b.stop_id = c.id),
            'errors', (SELECT coalesce(json_agg(x.error), '[]') FROM (
                SELECT b.error FROM tenant.member AS b WHERE b.stop_id = c.id AND b.error IS NOT NULL
                UNION ALL SELECT s.error FROM tenant.step AS s WHERE s.stop_id = c.id AND s.error IS NOT NULL
                UNION ALL SELECT c.error WHERE c.error IS NOT NULL) AS x),
            'duration_seconds', extract(epoch FROM coalesce(c.completed_at, tenure.now()) - c.initiated_at),
            'success', c.status = 'completed')
        FROM tenant.cancellation AS c
        CROSS JOIN LATERAL (
            SELECT
                coalesce(json_agg(b.job_id ORDER BY b.job_id) FILTER (WHERE b.became IN ('cancelled', 'paused')), '[]') AS cancelled,
                coalesce(json_agg(b.job_id ORDER BY b.job_id) FILTER (WHERE b.became = 'completed'), '[]') AS completed,
                coalesce(json_agg(b.job_id ORDER BY b.job_id) FILTER (WHERE b.became IS NULL), '[]') AS open,
                coalesce(json_agg(coalesce(b.runner, b.worker_id::text) ORDER BY b.job_id)
                    FILTER (WHERE b.was = 'running' AND b.became IS NOT NULL AND b.became <> 'completed'), '[]') AS runners
            FROM tenant.member AS b WHERE b.stop_id = c.id) AS m
        WHERE c.id = stop);
END $$;
