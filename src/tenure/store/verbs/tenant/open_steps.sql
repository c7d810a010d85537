-- The first steps of a record, as far as the stop itself has taken them.
CREATE OR REPLACE FUNCTION tenant.open_steps(stop bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    running integer;
    moment  CONSTANT timestamptz := tenure.now();
BEGIN
    SELECT count(*) INTO running FROM tenant.member AS m
    WHERE m.stop_id = stop AND m.ended_at IS NULL AND m.worker_id IS NOT NULL;
    UPDATE tenant.step AS s SET
        status = CASE WHEN s.name = 'terminate_runners' AND running > 0 THEN 'in_progress' ELSE 'completed' END,
        started_at = moment,
        completed_at = CASE WHEN NOT (s.name = 'terminate_runners' AND running > 0) THEN moment END,
        details = CASE s.name
            WHEN 'terminate_runners' THEN jsonb_build_object('running', running)
            WHEN 'cancel_pending' THEN jsonb_build_object('tasks', (SELECT count(*) FROM tenant.member AS m
                WHERE m.stop_id = stop AND m.was IN ('pending', 'paused') AND m.ended_at IS NOT NULL))
            ELSE '{}' END
    WHERE s.stop_id = stop AND s.name IN ('stop_assignment', 'terminate_runners', 'cancel_pending');
    UPDATE tenant.cancellation AS c SET status = 'stopping_runners' WHERE c.id = stop AND running > 0;
END $$;
