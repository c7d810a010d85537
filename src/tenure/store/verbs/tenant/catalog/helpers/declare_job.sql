-- Apply to a waiting job what its task declares. The job fails if that is not possible, with the message
-- with which its enqueue would have been refused; also if its unique key is taken by now. Whether an admin
-- enqueued it is no longer known, so the last lanes are not for it.
CREATE OR REPLACE FUNCTION tenant.declare_job(job bigint, task tenure.task) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    waiting tenant.job;
    payload tenant.payload;
    raw     jsonb := (SELECT u.given FROM tenant.unannounced AS u WHERE u.job_id = declare_job.job);
    d       tenure.draft;
    stored  text;
    holder  tenant.job;
    problem text;
BEGIN
    SELECT j.* INTO waiting FROM tenant.job AS j WHERE j.id = declare_job.job FOR NO KEY UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    ELSIF waiting.state <> 'pending' OR waiting.stop_id IS NOT NULL THEN
        -- A job that is being stopped ends as the stop demands; if it is resumed later, resume checks it
        -- again.
        UPDATE tenant.unannounced AS u SET task = NULL WHERE u.job_id = declare_job.job;
        RETURN;
    END IF;
    SELECT p.* INTO payload FROM tenant.payload AS p WHERE p.job_id = declare_job.job;
    BEGIN
        d := tenure.with_defaults(
            tenure.apply_declaration(raw || jsonb_build_object('args', payload.args), task));
        problem := tenure.validation_error(d);
        IF problem IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('a job of task %L %s', d.task, problem);
        END IF;
        stored := tenure.scoped_key(CASE WHEN d.key_scope = 'tenant' THEN NULL ELSE payload.owner END,
            d."unique");
        IF stored IS DISTINCT FROM waiting.unique_key THEN
            SELECT k.* INTO holder FROM tenant.job AS k
            WHERE k.unique_key = stored AND k.state IN ('pending', 'running', 'paused');
            IF holder.id IS NOT NULL AND d.when_taken = 'replace' AND holder.state = 'pending'
                AND holder.attempt = 0
                    AND holder.stop_id IS NULL AND NOT tenant.runs_below(holder.id) THEN
                PERFORM FROM tenant.job AS r WHERE r.id = holder.root_id FOR UPDATE NOWAIT;
                PERFORM tenant.stop_job(holder.id, 'cancel', 'replaced by a newer job with the same key',
                    payload.owner, 'worker',
                    jsonb_populate_record(NULL::tenure.stop_options, '{"force": true}'), payload.owner);
            ELSIF holder.id IS NOT NULL THEN
                RAISE EXCEPTION USING ERRCODE = 'TN004', MESSAGE = format(
                    'job %s has the unique key %L and is %s', holder.id, d."unique", holder.state);
            END IF;
        END IF;
        UPDATE tenant.job AS j SET lane = tenant.lane_of(d.queue, d.task, d.pools, d.limits, payload.owner),
            limits = nullif(d.limits, '{}'), priority = d.priority,
            max_attempts = d.max_attempts, blocks_paused = 'paused' = ANY (d.block_on),
            blocks_failed = 'failed' = ANY (d.block_on), orphan_fails = d.orphan = 'fail', target = d.target,
            unique_key = stored,
            waiting = CASE WHEN j.waiting::text = 'task' THEN 'promotion' ELSE j.waiting END
        WHERE j.id = declare_job.job;
        UPDATE tenant.payload AS p SET budget = d.budget, tags = d.tags,
            options = tenure.with_timestamp(d.options, 'deadline', waiting.created_at)
        WHERE p.job_id = declare_job.job;
    EXCEPTION
        WHEN lock_not_available THEN
            RETURN;
        WHEN SQLSTATE 'TN001' OR SQLSTATE 'TN004' OR unique_violation THEN
            problem := SQLERRM;
    END;
    DELETE FROM tenant.unannounced AS u WHERE u.job_id = declare_job.job;
    IF problem IS NULL THEN
        INSERT INTO tenant.wake (job_id) VALUES (declare_job.job);
    ELSE
        PERFORM tenant.fail_pending(ARRAY[declare_job.job], tenure.now(), 'tenure.InputRefused',
            jsonb_build_object(declare_job.job::text, problem));
    END IF;
END $$;
