-- Write the steps of a record, the first of them as far as the stop itself has completed them. Return
-- whether any of its members still runs.
CREATE OR REPLACE FUNCTION tenant.open_steps(stop bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    running integer;
    ended   integer;
BEGIN
    SELECT count(*) FILTER (WHERE m.ended_at IS NULL AND m.worker_id IS NOT NULL),
        count(*) FILTER (WHERE m.ended_at IS NOT NULL AND m.was IN ('pending', 'paused')
            AND m.job_id <> c.job_id)
    INTO running, ended
    FROM tenant.member AS m JOIN tenant.cancellation AS c ON c.id = m.stop_id WHERE m.stop_id = stop;
    INSERT INTO tenant.step (stop_id, place, name, status, started_at, completed_at, details) VALUES
        (stop, 1, 'stop_assignment', 'completed', now_ts, now_ts, '{}'),
        (stop, 2, 'terminate_runners', CASE WHEN running > 0 THEN 'in_progress' ELSE 'completed' END, now_ts,
            CASE WHEN running = 0 THEN now_ts END, jsonb_build_object('running', running)),
        (stop, 3, 'cancel_pending', 'completed', now_ts, now_ts, jsonb_build_object('tasks', ended)),
        (stop, 4, 'update_tasks', 'pending', NULL, NULL, '{}'),
        (stop, 5, 'release_slots', 'pending', NULL, NULL, '{}'),
        (stop, 6, 'preserve_artifacts', 'pending', NULL, NULL, '{}');
    IF running > 0 THEN
        UPDATE tenant.cancellation AS c SET status = 'stopping_runners' WHERE c.id = stop;
    END IF;
    RETURN running > 0;
END $$;
