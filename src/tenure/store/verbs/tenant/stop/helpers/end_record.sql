-- Write the end of a record: its last steps with their results, and an event.
CREATE OR REPLACE FUNCTION tenant.end_record(stop bigint, final text, why text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    UPDATE tenant.step AS s SET
        status = CASE WHEN s.status = 'failed'
            OR (final <> 'completed' AND s.name = 'terminate_runners' AND s.status <> 'completed'
            AND EXISTS (SELECT FROM tenant.member AS m WHERE m.stop_id = stop AND m.ended_at IS NULL))
            THEN 'failed' ELSE 'completed' END,
        started_at = coalesce(s.started_at, now_ts), completed_at = coalesce(s.completed_at, now_ts),
        details = s.details || CASE s.name
            WHEN 'terminate_runners'
                THEN (SELECT jsonb_build_object('attempts', count(*),
                    'runners', count(DISTINCT coalesce(m.runner, m.worker_id::text)))
                FROM tenant.member AS m
                WHERE m.stop_id = stop AND m.was = 'running'
                  AND m.became IN ('cancelled', 'paused', 'failed'))
            WHEN 'update_tasks' THEN jsonb_build_object('tasks', (SELECT count(*) FROM tenant.member AS m
                WHERE m.stop_id = stop AND m.became IS NOT NULL))
            WHEN 'release_slots' THEN jsonb_build_object(
                'slots', (SELECT count(*) FROM tenant.member AS m, unnest(m.slots)
                WHERE m.stop_id = stop))
            WHEN 'preserve_artifacts' THEN jsonb_build_object(
                'artifacts', (SELECT count(*) FROM tenant.member AS m
                    JOIN tenant.artifact AS a ON a.job_id = m.job_id
                    WHERE m.stop_id = stop),
                'partials', (SELECT count(*) FROM tenant.member AS m
                    JOIN tenant.partial AS p ON p.job_id = m.job_id
                    WHERE m.stop_id = stop))
            ELSE '{}' END
    WHERE s.stop_id = stop;
    UPDATE tenant.cancellation AS c SET status = final, completed_at = now_ts, error = why WHERE c.id = stop;
    INSERT INTO tenant.event (at, kind, job_id, detail)
    SELECT now_ts, 'cancellation', c.job_id,
        jsonb_build_object('cancellation_id', tenant.cancellation_name(c.id, c.intent),
        'intent', c.intent, 'status', final, 'error', why)
    FROM tenant.cancellation AS c WHERE c.id = stop;
    IF EXISTS (SELECT FROM tenant.webhook) THEN
        PERFORM tenant.announce_record(stop);
    END IF;
    PERFORM tenant.discard_artifacts(stop);
    PERFORM tenant.notify_watchers(ARRAY[stop]);
END $$;
