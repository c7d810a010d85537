-- Return a cancellation record by its name, or the latest record of a job.
CREATE OR REPLACE FUNCTION tenant.cancellation(name text DEFAULT NULL, job bigint DEFAULT NULL) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stop   bigint := CASE WHEN name IS NOT NULL THEN tenant.cancellation_id(name) ELSE (
        SELECT m.stop_id FROM tenant.member AS m WHERE m.job_id = cancellation.job AND m.was <> 'completed'
        ORDER BY m.stop_id DESC LIMIT 1) END;
    report json := tenant.cancellation_report(stop);
BEGIN
    IF report IS NULL OR report ->> 'cancellation_id' <> name THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006', MESSAGE = CASE WHEN name IS NULL
            THEN format('job %s was never stopped', coalesce(job::text, 'without an id'))
                ELSE format('there is no cancellation %s', name) END;
    END IF;
    RETURN (report::jsonb || jsonb_build_object('members', (
        SELECT jsonb_agg(jsonb_build_object('job_id', m.job_id, 'was', m.was, 'became', m.became,
            'rung', m.rung,
            'worker_id', m.worker_id, 'runner', m.runner, 'pids', coalesce(to_jsonb(m.pids), '[]'),
            'processes', m.processes, 'reached', m.reached, 'ended_at', m.ended_at, 'error', m.error,
            'cleanup', CASE WHEN m.ended_at IS NOT NULL
                THEN (SELECT o.cleanup FROM tenant.outcome AS o WHERE o.job_id = m.job_id) END)
            ORDER BY m.job_id)
        FROM tenant.member AS m WHERE m.stop_id = stop)))::json;
END $$;
