-- A new job with the arguments and options of an old one, whatever became of that.
CREATE OR REPLACE FUNCTION tenant.rerun(
    job bigint, reason text DEFAULT NULL, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    refusal CONSTANT json := tenant.forbidden('rerun', 'operator', 'job', rerun.job::text, by, via, role);
    draft   jsonb;
    answer  json;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    SELECT jsonb_strip_nulls(jsonb_build_object('task', l.task, 'queue', l.queue, 'pools', l.pools, 'priority', j.priority,
        'target', j.target, 'block_on', array_remove(ARRAY[CASE WHEN j.blocks_paused THEN 'paused' END,
            CASE WHEN j.blocks_failed THEN 'failed' END], NULL),
        'max_attempts', j.max_attempts, 'orphan', CASE WHEN j.orphan_fails THEN 'fail' ELSE 'retry' END,
        'options', p.options, 'budget', p.budget, 'key', p.key, 'tags', p.tags)) || jsonb_build_object('args', p.args)
    INTO draft
    FROM tenant.job AS j JOIN tenant.lane AS l ON l.id = j.lane JOIN tenant.payload AS p ON p.job_id = j.id
    WHERE j.id = rerun.job;
    IF draft IS NULL THEN
        PERFORM tenant.refuse_verb(rerun.job, 'rerun');
    ELSIF draft ->> 'task' IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('job %s has no code of its own; rerun its tasks', rerun.job);
    END IF;
    answer := tenant.enqueue(draft, '{}', by, via) -> 0;
    -- Not as a field of the draft: whoever may run a job again may not enqueue in its owner's name.
    UPDATE tenant.payload AS p SET owner = o.owner
    FROM tenant.payload AS o WHERE p.job_id = (answer ->> 'id')::bigint AND o.job_id = rerun.job;
    PERFORM tenant.note(tenure.actor(by), via, 'rerun', 'job', rerun.job::text, reason, NULL, jsonb_build_object('job', answer -> 'id'));
    RETURN tenant.show((answer ->> 'id')::bigint);
END $$;
