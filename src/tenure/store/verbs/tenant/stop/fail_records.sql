-- Close the open records of stops of a job whose end cannot be written: failed, with the reason. Return
-- their names.
--
-- The job's code is gone, and its worker keeps trying. Other jobs of the records continue to be stopped.
-- Cancelling the job again creates a new record.
CREATE OR REPLACE FUNCTION tenant.fail_records(worker uuid, job bigint, token bigint, error text) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    stops CONSTANT bigint[] := ARRAY(
        SELECT c.id FROM tenant.member AS m JOIN tenant.cancellation AS c ON c.id = m.stop_id
        JOIN tenure.worker AS w ON w.id = m.worker_id AND w.dead_at IS NULL
            AND tenure.may_act_for_worker(w.registered_by)
        WHERE m.job_id = fail_records.job AND m.worker_id = fail_records.worker
          AND m.token = fail_records.token
          AND m.ended_at IS NULL AND c.completed_at IS NULL
        ORDER BY c.id FOR NO KEY UPDATE OF c);
    why   CONSTANT text := left(format('the end of job %s could not be written: %s', job, error),
        {problem.max});
    stop  bigint;
BEGIN
    FOREACH stop IN ARRAY stops LOOP
        UPDATE tenant.step AS s
        SET status = CASE s.name WHEN 'update_tasks' THEN 'failed' ELSE 'completed' END,
            error = CASE s.name WHEN 'update_tasks' THEN why END, completed_at = tenure.now()
        WHERE s.stop_id = stop AND (s.name = 'update_tasks' OR (s.name = 'terminate_runners' AND NOT EXISTS (
            SELECT FROM tenant.member AS m
            WHERE m.stop_id = stop AND m.ended_at IS NULL AND m.worker_id IS NOT NULL
              AND m.job_id <> fail_records.job)));
        PERFORM tenant.end_record(stop, 'failed', why);
    END LOOP;
    RETURN (SELECT coalesce(json_agg(tenant.cancellation_name(c.id, c.intent) ORDER BY c.id), '[]')
        FROM tenant.cancellation AS c WHERE c.id = ANY (stops));
END $$;
