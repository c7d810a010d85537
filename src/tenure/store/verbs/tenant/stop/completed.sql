-- Return what a job of the task tenure.rollback must roll back: the completed children of its cancellation,
-- all or those it names, with their real arguments. Only for the worker that runs it, and only if the
-- record names it as its rollback: any caller may enqueue a job of that name.
CREATE OR REPLACE FUNCTION tenant.completed(worker uuid, job bigint, token bigint) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    request CONSTANT jsonb := (
        SELECT p.args FROM tenant.job AS j JOIN tenant.lane AS l ON l.id = j.lane
        JOIN tenant.payload AS p ON p.job_id = j.id
        WHERE j.id = completed.job AND j.state::text = 'running' AND j.worker_id = completed.worker
          AND j.token = completed.token
          AND l.task = 'tenure.rollback');
BEGIN
    IF request IS NULL OR NOT EXISTS (SELECT FROM tenant.cancellation AS c
        WHERE c.id = tenant.cancellation_id(request ->> 'cancellation')
          AND completed.job = ANY (c.rollback_jobs)) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('job %s is not a rollback that this worker runs', completed.job);
    END IF;
    RETURN (
        SELECT coalesce(json_agg(
            json_build_object('id', j.id, 'task', l.task, 'args', p.args, 'result', o.result,
            'result_artifact', o.result_artifact, 'secret', p.options -> 'secret',
            'completed_at', j.ended_at) ORDER BY j.ended_at DESC, j.id DESC), '[]')
        FROM tenant.member AS m JOIN tenant.job AS j ON j.id = m.job_id JOIN tenant.lane AS l ON l.id = j.lane
        JOIN tenant.payload AS p ON p.job_id = j.id LEFT JOIN tenant.outcome AS o ON o.job_id = j.id
        WHERE m.stop_id = tenant.cancellation_id(request ->> 'cancellation') AND m.became = 'completed'
          AND (NOT request ? 'tasks' OR request -> 'tasks' @> to_jsonb(m.job_id)));
END $$;
