-- End a runner by its id: it takes nothing new, and all jobs in it are stopped by the ladder and given back,
-- unspent, to go on elsewhere from their checkpoints. None of them is cancelled; stop a job for that.
--
-- "grace" is the time to the kill, as each job says by default; with "force" there is none. An operator
-- may end a runner in which only jobs of its own run, an admin any. Its worker hears of it at once;
-- asking again with "force" is harder. Runners are known from the beat after their start on (see
-- runners).
CREATE OR REPLACE FUNCTION tenant.end_runner(
    runner text, reason text DEFAULT NULL, force boolean DEFAULT false, grace interval DEFAULT NULL,
    by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    refusal CONSTANT json := tenant.forbidden('end_runner', 'operator', 'runner', runner, by, via, role);
    moment  CONSTANT timestamptz := tenure.now();
    ours    tenure.worker;
    inside  bigint[];
    strange boolean;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF reason = '' OR length(reason) > {reason.most} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'a reason has 1 to {reason.most} characters; leave it out instead';
    ELSIF grace < interval '0' OR grace > {grace.most} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'the grace of a runner is from 0 s to 36500 days';
    END IF;
    SELECT w.* INTO ours FROM tenure.worker AS w
    WHERE w.dead_at IS NULL AND w.left_at IS NULL AND w.runners ? end_runner.runner
      AND w.runners -> end_runner.runner ->> 'tenant' = '{tenant}' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006',
            MESSAGE = format('there is no runner %L; workers tell of theirs with each beat', runner);
    END IF;
    -- A job that began after the last beat may be in any runner, so it counts as in this one.
    SELECT array_agg(j.id ORDER BY j.id) FILTER (WHERE r.key = end_runner.runner),
        coalesce(bool_or(p.owner <> actor), false)
    INTO inside, strange
    FROM tenant.job AS j JOIN tenant.payload AS p ON p.job_id = j.id
    LEFT JOIN LATERAL jsonb_each(ours.runners) AS r
        ON r.value ->> 'tenant' = '{tenant}' AND r.value -> 'jobs' @> jsonb_build_object(j.id::text, j.token)
    WHERE j.worker_id = ours.id AND j.state = 'running'
      AND coalesce(r.key, end_runner.runner) = end_runner.runner;
    IF tenant.role_of(role) <> 'admin' AND (inside IS NULL OR strange) THEN
        RETURN tenant.refused('end_runner', 'runner', runner, actor, via,
            format('not only jobs of %s run in %s; only an admin may end it', actor, runner));
    END IF;
    UPDATE tenure.worker AS w
    SET ending = w.ending || jsonb_build_object(runner, jsonb_strip_nulls(jsonb_build_object(
        'reason', reason, 'by', actor, 'force', coalesce(force, false), 'grace', extract(epoch FROM grace))))
    WHERE w.id = ours.id;
    PERFORM pg_notify('tenure_' || ours.id, 'orders');
    PERFORM tenant.write_audit(actor, via, 'end_runner', 'runner', runner, reason, NULL,
        jsonb_build_object('worker', ours.id, 'jobs', to_jsonb(coalesce(inside, '{}')),
            'force', coalesce(force, false)));
    RETURN json_build_object('runner', runner, 'worker_id', ours.id, 'jobs', to_json(coalesce(inside, '{}')),
        'asked_at', moment);
END $$;
