-- End a runner by its id: it starts nothing new, and all its jobs are stopped and released without spending
-- an attempt, to continue elsewhere from their checkpoints. None of them is cancelled; stop a job for that.
--
-- "grace" is the time until the kill, by default that of each job; with "force" it is zero. An operator may
-- end a runner in which only its own jobs run, an admin any. Its worker is notified at once; asking again
-- with "force" escalates. Runners are known from the first beat after their start (see runners).
CREATE OR REPLACE FUNCTION tenant.end_runner(
    runner text, reason text DEFAULT NULL, force boolean DEFAULT false, grace interval DEFAULT NULL,
    by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    actor        CONSTANT text := tenure.actor(by);
    refusal      CONSTANT json := tenant.forbidden('end_runner', 'operator', 'runner', runner, by, via, role);
    now_ts       CONSTANT timestamptz := tenure.now();
    found_worker tenure.worker;
    inside       bigint[];
    strange      boolean;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF reason = '' OR length(reason) > {reason.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'a reason has 1 to {reason.max} characters; leave it out instead';
    ELSIF grace < interval '0' OR grace > {grace.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'the grace of a runner is from 0 s to 36500 days';
    END IF;
    SELECT w.* INTO found_worker FROM tenure.worker AS w
    WHERE w.dead_at IS NULL AND w.left_at IS NULL AND w.runners ? end_runner.runner
      AND w.runners -> end_runner.runner ->> 'tenant' = '{tenant}' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006',
            MESSAGE = format('there is no runner %L; workers report their runners with each beat', runner);
    END IF;
    -- A job that began after the last beat may be in any runner, so count it for this one.
    SELECT array_agg(j.id ORDER BY j.id) FILTER (WHERE r.key = end_runner.runner),
        coalesce(bool_or(p.owner <> actor), false)
    INTO inside, strange
    FROM tenant.job AS j JOIN tenant.payload AS p ON p.job_id = j.id
    LEFT JOIN LATERAL jsonb_each(found_worker.runners) AS r
        ON r.value ->> 'tenant' = '{tenant}' AND r.value -> 'jobs' @> jsonb_build_object(j.id::text, j.token)
    WHERE j.worker_id = found_worker.id AND j.state = 'running'
      AND coalesce(r.key, end_runner.runner) = end_runner.runner;
    IF tenant.role_of(role) <> 'admin' AND (inside IS NULL OR strange) THEN
        RETURN tenant.refused('end_runner', 'runner', runner, actor, via,
            format('not only jobs of %s run in %s; only an admin may end it', actor, runner));
    END IF;
    UPDATE tenure.worker AS w
    SET ending = w.ending || jsonb_build_object(runner, jsonb_strip_nulls(jsonb_build_object(
        'reason', reason, 'by', actor, 'force', coalesce(force, false), 'grace', extract(epoch FROM grace))))
    WHERE w.id = found_worker.id;
    PERFORM pg_notify('tenure_' || found_worker.id, 'orders');
    PERFORM tenant.write_audit(actor, via, 'end_runner', 'runner', runner, reason, NULL,
        jsonb_build_object('worker', found_worker.id, 'jobs', to_jsonb(coalesce(inside, '{}')),
            'force', coalesce(force, false)));
    RETURN json_build_object('runner', runner, 'worker_id', found_worker.id,
        'jobs', to_json(coalesce(inside, '{}')), 'asked_at', now_ts);
END $$;
