-- A record as people read it: what was asked, its steps, its members and what came of them.
CREATE OR REPLACE FUNCTION tenant.cancellation_report(stop bigint, again boolean DEFAULT false) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
        SELECT json_build_object(
            'cancellation_id', tenant.cancellation_name(c.id),
            'job_id', j.root_id,
            'task_id', CASE WHEN j.id <> j.root_id THEN j.id END,
            'intent', c.intent, 'reason', c.reason, 'force', c.force, 'cascade', c."cascade",
            'grace', extract(epoch FROM c.grace), 'last_rung', c.last_rung,
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
            'errors', m.errors,
            'duration_seconds', extract(epoch FROM coalesce(c.completed_at, tenure.now()) - c.initiated_at),
            'success', c.status = 'completed')
        FROM tenant.cancellation AS c
        JOIN tenant.job AS j ON j.id = c.job_id
        CROSS JOIN LATERAL (
            SELECT
                coalesce(json_agg(b.job_id ORDER BY b.job_id) FILTER (WHERE b.became IN ('cancelled', 'paused')), '[]') AS cancelled,
                coalesce(json_agg(b.job_id ORDER BY b.job_id) FILTER (WHERE b.became = 'completed'), '[]') AS completed,
                coalesce(json_agg(b.job_id ORDER BY b.job_id) FILTER (WHERE b.became IS NULL), '[]') AS open,
                coalesce(json_agg(coalesce(b.runner, b.worker_id::text) ORDER BY b.job_id)
                    FILTER (WHERE b.was = 'running' AND b.became IS NOT NULL AND b.became <> 'completed'), '[]') AS runners,
                coalesce(json_agg(b.error ORDER BY b.job_id) FILTER (WHERE b.error IS NOT NULL), '[]') AS errors
            FROM tenant.member AS b WHERE b.stop_id = c.id) AS m
        WHERE c.id = stop);
END $$;
