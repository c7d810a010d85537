-- Answer a question of a job, once. Without an id: the job's only open question. Its owner or an admin may
-- answer, or everybody of at least the role that the question names.
--
-- The row decides between an answer and the end of its time: the first to lock it. The job is locked as
-- well, so that no answer is accepted by a job that is cancelled meanwhile.
CREATE OR REPLACE FUNCTION tenant.answer(
    job bigint, value jsonb, question bigint DEFAULT NULL, by text DEFAULT NULL, via text DEFAULT 'sql',
    role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    chosen  tenant.job;
    asked   tenant.job_step;
    refusal json;
    now_ts  timestamptz;
BEGIN
    SELECT j.* INTO chosen FROM tenant.job AS j WHERE j.id = answer.job FOR SHARE;
    SELECT s.* INTO asked FROM tenant.job_step AS s
    WHERE s.job_id = answer.job AND s.question IS NOT NULL AND s.id = coalesce(answer.question, (
        SELECT o.id FROM tenant.job_step AS o WHERE o.job_id = answer.job AND o.question IS NOT NULL
        ORDER BY o.ended_at IS NULL DESC, o.id DESC LIMIT 1)) FOR UPDATE;
    IF coalesce(asked.question ->> 'role', 'admin') = 'admin' OR chosen.id IS NULL THEN
        refusal := tenant.forbidden('answer', CASE WHEN asked.question ->> 'role' IS NULL THEN 'operator'
            ELSE 'admin' END, 'job', answer.job::text, by, via, role);
    ELSIF NOT tenant.can_see_job(answer.job) THEN
        PERFORM tenant.refuse_verb(answer.job, 'answer');
    ELSIF asked.question ->> 'role' = 'operator' AND tenant.role_of(role) = 'viewer' THEN
        refusal := tenant.forbidden('answer', 'operator', 'job', answer.job::text, by, via, role);
    END IF;
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF chosen.id IS NULL THEN
        PERFORM tenant.refuse_verb(answer.job, 'answer');
    ELSIF asked.id IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN002', MESSAGE = CASE WHEN answer.question IS NULL
            THEN format('job %s has not asked anything', answer.job)
            ELSE format('job %s has no question %s; it may have asked again', answer.job,
                answer.question) END;
    ELSIF value IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'an answer is JSON, not null';
    ELSIF pg_column_size(value) > {answer.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'an answer takes at most {answer.max} bytes';
    ELSIF tenure.json_error(value) IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'an answer cannot be ' || tenure.json_error(value);
    END IF;
    now_ts := tenure.now();
    IF asked.ended_at IS NOT NULL AND NOT asked.timed_out THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003', MESSAGE = format(
            'question %s of job %s was answered by %s at %s', asked.id, asked.job_id, asked.answered_by,
            date_trunc('second', asked.ended_at));
    ELSIF asked.timed_out OR asked.due_at <= now_ts THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003', MESSAGE = format(
            'the answer to question %s of job %s is late: its time was over at %s', asked.id, asked.job_id,
            asked.due_at);
    ELSIF chosen.ended_at IS NOT NULL OR EXISTS (SELECT FROM tenant.cancellation AS c
            WHERE c.id = chosen.stop_id AND c.intent = 'cancel') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003', MESSAGE = format(
            'cannot answer a question of job %s, which is %s', asked.job_id,
            (SELECT v.status FROM tenant.jobs AS v WHERE v.id = answer.job));
    END IF;
    UPDATE tenant.job_step AS s SET value = answer.value, ended_at = now_ts, answered_by = actor
    WHERE s.job_id = asked.job_id AND s.name = asked.name;
    INSERT INTO tenant.wake (job_id) VALUES (answer.job);
    PERFORM tenant.notify_idle(ARRAY(SELECT l.queue FROM tenant.lane AS l WHERE l.id = chosen.lane));
    PERFORM tenant.write_audit(actor, via, 'answer', 'job', answer.job::text, NULL, NULL,
        jsonb_build_object('question', asked.id, 'name', asked.name));
    RETURN json_build_object('job_id', asked.job_id, 'question', asked.id, 'answered_by', actor,
        'answered_at', now_ts);
END $$;
