-- Rerun a job for a caller that may, and return the id of the new job; see rerun.
CREATE OR REPLACE FUNCTION tenant.rerun_job(job bigint, reason text, actor text, via text) RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    draft  jsonb;
    raw    CONSTANT jsonb := (SELECT u.given FROM tenant.unannounced AS u WHERE u.job_id = rerun_job.job);
    answer json;
BEGIN
    SELECT jsonb_strip_nulls(
        jsonb_build_object('task', l.task, 'queue', l.queue, 'pools', l.pools, 'priority', j.priority,
        'limits', j.limits, 'target', j.target,
        'block_on', array_remove(ARRAY[CASE WHEN j.blocks_paused THEN 'paused' END,
            CASE WHEN j.blocks_failed THEN 'failed' END], NULL),
        'max_attempts', j.max_attempts, 'orphan', CASE WHEN j.orphan_fails THEN 'fail' ELSE 'retry' END,
        'options', tenant.fresh_options(p.options, j.created_at), 'budget', p.budget, 'key', p.key,
        'tags', p.tags)) || jsonb_build_object('args', p.args)
    INTO draft
    FROM tenant.job AS j JOIN tenant.lane AS l ON l.id = j.lane JOIN tenant.payload AS p ON p.job_id = j.id
    WHERE j.id = rerun_job.job;
    IF draft IS NULL THEN
        PERFORM tenant.refuse_verb(rerun_job.job, 'rerun');
    ELSIF draft ->> 'task' IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('job %s has no code of its own; rerun its tasks', rerun_job.job);
    END IF;
    IF raw IS NOT NULL THEN
        draft := (raw - ARRAY['unique', 'key_scope', 'when_taken'])
            || jsonb_strip_nulls(jsonb_build_object('key', draft -> 'key'))
            || jsonb_build_object('args', draft -> 'args');
    END IF;
    answer := tenant.enqueue(draft, '{}', actor, via, declared => raw IS NULL);
    IF answer -> 'forbidden' IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = '42501', MESSAGE = answer ->> 'forbidden';
    END IF;
    answer := answer -> 0;
    -- Not as a field of the draft: a caller that may rerun a job may not enqueue in its owner's name.
    UPDATE tenant.payload AS p SET owner = o.owner
    FROM tenant.payload AS o WHERE p.job_id = (answer ->> 'id')::bigint AND o.job_id = rerun_job.job;
    PERFORM tenant.write_audit(actor, via, 'rerun', 'job', rerun_job.job::text, reason, NULL,
        jsonb_build_object('job', answer -> 'id'));
    RETURN (answer ->> 'id')::bigint;
END $$;
