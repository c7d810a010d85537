-- Inspect a running job: ask its worker for the stack of its code, and the CPU and memory of its processes.
--
-- It needs the right to stop the job, because a stack shows the job's code. The worker receives the request
-- like a stop, and answers with answer_inspection; "inspection" returns the answer. A request within ten
-- seconds of an open one joins it.
CREATE OR REPLACE FUNCTION tenant.inspect(
    job bigint, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    refusal CONSTANT json := tenant.forbidden('inspect', 'operator', 'job', inspect.job::text, by, via, role);
    actor   CONSTANT text := tenure.actor(by);
    now_ts  CONSTANT timestamptz := tenure.now();
    chosen  tenant.job;
    asked   tenant.inspection;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    -- Shared lock: the attempt cannot end before this is committed, and its end deletes the inspection.
    SELECT j.* INTO chosen FROM tenant.job AS j WHERE j.id = inspect.job FOR SHARE;
    IF chosen.state IS DISTINCT FROM 'running' THEN
        PERFORM tenant.refuse_verb(inspect.job, 'inspect');
    END IF;
    INSERT INTO tenant.inspection AS l (job_id, token, asked_by, asked_at)
    VALUES (chosen.id, chosen.token, actor, now_ts)
    ON CONFLICT (job_id) DO UPDATE SET id = DEFAULT, token = excluded.token, asked_by = excluded.asked_by,
        asked_at = excluded.asked_at, answer = NULL, answered_at = NULL
    WHERE l.token <> excluded.token OR l.answered_at IS NOT NULL
      OR l.asked_at < now_ts - interval '10 seconds'
    RETURNING l.* INTO asked;
    IF FOUND THEN
        DELETE FROM tenure.signal AS s
        WHERE s.tenant = '{tenant}' AND s.job_id = chosen.id AND s.orders ? 'inspection';
        INSERT INTO tenure.signal (worker_id, tenant, job_id, token, orders, created_at)
        VALUES (chosen.worker_id, '{tenant}', chosen.id, chosen.token,
            jsonb_build_object('inspection', asked.id), now_ts);
        PERFORM pg_notify('tenure_' || chosen.worker_id, 'orders');
    ELSE
        SELECT l.* INTO asked FROM tenant.inspection AS l WHERE l.job_id = chosen.id;
    END IF;
    PERFORM tenant.write_audit(actor, via, 'inspect', 'job', chosen.id::text, NULL, NULL,
        jsonb_build_object('inspection', asked.id));
    RETURN json_build_object('id', asked.id, 'job_id', chosen.id, 'asked_by', asked.asked_by,
        'asked_at', asked.asked_at);
END $$;
