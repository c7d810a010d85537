-- Begin a wait of a running job, or look whether it is over: "arrived" with a value, "timeout", or "open".
--
-- "wait" is {"name", "digest", "kind": sleep, event or question, "within": seconds or null, "event", "key",
-- "question"}. The row is durable when this returns, so the deadline of a repeated wait is that of the first.
-- A job waits for one thing at a time: an open wait under another name was abandoned.
CREATE OR REPLACE FUNCTION tenant.await_step(worker uuid, job bigint, token bigint, wait jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s'
{index_scans} AS $$
DECLARE
    now_ts timestamptz;
    step   tenant.job_step;
BEGIN
    -- Shared lock, so that the job cannot be taken away before this is committed.
    PERFORM FROM tenant.job AS j WHERE j.id = await_step.job AND j.state::text = 'running'
        AND j.worker_id = worker AND j.token = await_step.token FOR SHARE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('worker %s does not hold job %s', worker, job);
    ELSIF pg_column_size(wait) > {value.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a wait takes at most {value.max} bytes';
    ELSIF tenant.is_bad_wait(wait) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a wait has a name, a digest and a kind: a sleep, '
            'an event with its name and key, or a question with its text and the schema of the answer';
    END IF;
    now_ts := tenure.now();
    SELECT s.* INTO step FROM tenant.job_step AS s
    WHERE s.job_id = await_step.job AND s.name = wait ->> 'name' FOR UPDATE;
    IF NOT FOUND OR step.digest <> wait ->> 'digest' THEN
        DELETE FROM tenant.job_step AS s WHERE s.job_id = await_step.job AND s.ended_at IS NULL;
        INSERT INTO tenant.job_step AS s (job_id, name, kind, digest, started_at, due_at, event, key,
            question)
        VALUES (await_step.job, wait ->> 'name', wait ->> 'kind', wait ->> 'digest', now_ts,
            now_ts + make_interval(secs => (wait ->> 'within')::double precision), wait ->> 'event',
            wait ->> 'key', nullif(wait -> 'question', 'null'))
        ON CONFLICT (job_id, name) DO UPDATE SET
            id = DEFAULT, kind = excluded.kind, digest = excluded.digest, value = NULL,
            artifact = NULL, error = NULL, spent = NULL, started_at = excluded.started_at, ended_at = NULL,
            due_at = excluded.due_at, timed_out = false, event = excluded.event, key = excluded.key,
            publication_id = NULL, question = excluded.question, answered_by = NULL, changes = s.changes + 1;
    ELSIF step.ended_at IS NULL THEN
        DELETE FROM tenant.job_step AS s
        WHERE s.job_id = await_step.job AND s.ended_at IS NULL AND s.name <> step.name;
    END IF;
    PERFORM tenant.deliver_events(ARRAY[await_step.job], now_ts);
    UPDATE tenant.job_step AS s SET ended_at = now_ts, timed_out = s.kind <> 'sleep'
    WHERE s.job_id = await_step.job AND s.ended_at IS NULL AND s.due_at <= now_ts;
    SELECT s.* INTO step FROM tenant.job_step AS s
    WHERE s.job_id = await_step.job AND s.name = wait ->> 'name';
    RETURN json_build_object(
        'state', CASE WHEN step.ended_at IS NULL THEN 'open' WHEN step.timed_out THEN 'timeout'
            ELSE 'arrived' END,
        'value', step.value, 'due_at', step.due_at);
END $$;
