-- Update one step of a record.
CREATE OR REPLACE FUNCTION tenant.step(
    cancellation text, name text, status text, details jsonb DEFAULT '{}', error text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stop   CONSTANT bigint := tenant.cancellation_id(step.cancellation);
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    PERFORM FROM tenant.cancellation AS c WHERE c.id = stop AND c.completed_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('there is no open cancellation %s', step.cancellation);
    END IF;
    IF step.status NOT IN ('pending', 'in_progress', 'completed', 'failed') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('a step is pending, in_progress, completed or failed; %L is none of these',
                step.status);
    END IF;
    IF pg_column_size(step.details) > {step_details.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            'the details of a step take at most {step_details.max} bytes';
    END IF;
    UPDATE tenant.step AS s SET
        status = step.status, error = left(step.error, {problem.max}), details = s.details || step.details,
        started_at = CASE WHEN step.status <> 'pending' THEN coalesce(s.started_at, now_ts) END,
        completed_at = CASE WHEN step.status IN ('completed', 'failed') THEN now_ts END
    WHERE s.stop_id = stop AND s.name = step.name;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('a cancellation has no step %L', step.name);
    END IF;
    UPDATE tenant.cancellation AS c SET status = CASE
        WHEN step.name = 'terminate_runners' THEN 'stopping_runners'
        WHEN step.name IN ('release_slots', 'preserve_artifacts') THEN 'cleaning_resources'
        ELSE 'updating_tasks' END
    WHERE c.id = stop;
    RETURN tenant.cancellation_report(stop);
END $$;
