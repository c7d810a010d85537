-- Insert a job, or find the job that has its key. Its parent is named by id or by a key of the same call. A
-- child belongs to the owner of its parent, unless it names another.
--
-- Its keys belong to its owner, or with the key_scope "tenant" to the tenant; "reserved_..." are Tenure's
-- own keys, as stored, instead of them. With "whose", replacing a job stops only what belongs to this
-- owner.
CREATE OR REPLACE FUNCTION tenant.insert_job(
    d tenure.draft, place integer, places jsonb, ids bigint[], now_ts timestamptz, actor text, via text,
    whose text, reserved_unique text DEFAULT NULL, reserved_idempotency text DEFAULT NULL,
    OUT id bigint, OUT created boolean, OUT taken text
)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    due                CONSTANT timestamptz := CASE WHEN d.run_at >= '9999-12-31 00:00+00' THEN NULL
        WHEN d.delay IS NOT NULL THEN now_ts + d.delay ELSE coalesce(d.run_at, now_ts) END;
    keyed              CONSTANT boolean := coalesce(d."unique", d.idempotency, reserved_unique,
        reserved_idempotency) IS NOT NULL;
    job_owner          text := CASE WHEN d.owner IS NOT NULL THEN tenure.actor(d.owner) ELSE actor END;
    stored_unique      text;        -- its keys, as stored
    stored_idempotency text;
    new_id             bigint;
    waits              tenure.reason;
    parent_job         tenant.job;
    holder             tenant.job;
BEGIN
    IF d.owner IS NULL AND jsonb_typeof(d.parent) IN ('number', 'string') THEN
        job_owner := coalesce((SELECT p.owner FROM tenant.payload AS p
            WHERE p.job_id = tenant.find_by_name(d.parent, place, places, ids)), actor);
    END IF;
    IF keyed THEN
        stored_unique := coalesce(reserved_unique,
            tenure.scoped_key(CASE WHEN d.key_scope = 'tenant' THEN NULL ELSE job_owner END, d."unique"));
        stored_idempotency := coalesce(reserved_idempotency,
            tenure.scoped_key(CASE WHEN d.key_scope = 'tenant' THEN NULL ELSE job_owner END, d.idempotency));
    END IF;
    IF stored_idempotency IS NOT NULL THEN
        -- The state of its parent since then does not matter.
        SELECT j.id INTO id FROM tenant.job AS j WHERE j.idempotency_key = stored_idempotency;
        IF FOUND THEN
            created := false; taken := 'idempotency';
            RETURN;
        END IF;
    END IF;
    IF d.parent IS NOT NULL THEN
        parent_job := tenant.parent_of(d.parent, place, places, ids);
    END IF;
    waits := CASE
        WHEN d.task IS NULL THEN 'tasks'::tenure.reason
        WHEN due IS NULL THEN 'unqueued'
        WHEN d.given IS NOT NULL THEN 'task'
        WHEN parent_job.id IS NOT NULL OR jsonb_array_length(d.after) > 0 THEN 'promotion'
        ELSE tenure.waiting_for(due, now_ts, d.target) END;
    IF waits IS NULL AND d.limits IS NOT NULL AND tenant.has_line(d.limits) THEN
        waits := 'limit';
    END IF;
    new_id := nextval('tenant.job_id_seq');
    LOOP
        INSERT INTO tenant.job (id, root_id, parent_id, position, run_at, created_at, lane, waiting, priority,
            max_attempts, ready, blocks_paused, blocks_failed, orphan_fails, target, unique_key,
            idempotency_key, limits)
        OVERRIDING SYSTEM VALUE
        VALUES (new_id, coalesce(parent_job.root_id, new_id), parent_job.id,
            CASE WHEN coalesce(waits, 'limit') = 'limit' THEN nextval('tenant.activity') ELSE 0 END, due,
            now_ts, tenant.lane_of(d.queue, d.task, d.pools, d.limits, whose), waits, d.priority,
            d.max_attempts, waits IS NULL,
            'paused' = ANY (d.block_on), 'failed' = ANY (d.block_on), d.orphan = 'fail',
            d.target, stored_unique, stored_idempotency, nullif(d.limits, '{}'))
        ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND OR NOT keyed;

        SELECT j.* INTO holder FROM tenant.job AS j WHERE j.idempotency_key = stored_idempotency;
        IF FOUND THEN
            id := holder.id; created := false; taken := 'idempotency';
            RETURN;
        END IF;
        SELECT j.* INTO holder FROM tenant.job AS j
        WHERE j.unique_key = stored_unique AND j.state IN ('pending', 'running', 'paused');
        CONTINUE WHEN NOT FOUND;  -- it ended meanwhile: the key is free
        IF d.when_taken = 'refuse' THEN
            RAISE EXCEPTION USING ERRCODE = 'TN004', MESSAGE = format(
                'job %s has the unique key %L and is %s', holder.id, coalesce(reserved_unique, d."unique"),
                holder.state);
        ELSIF d.when_taken = 'replace' AND holder.state = 'pending' AND holder.attempt = 0
            AND holder.stop_id IS NULL
                AND NOT tenant.runs_below(holder.id) THEN
            -- Keys are taken in key order and trees are locked in id order, so do not wait here.
            PERFORM FROM tenant.job AS r WHERE r.id = holder.root_id FOR UPDATE NOWAIT;
            -- By force: a job that a plain cancel only pauses would keep the key.
            PERFORM tenant.stop_job(holder.id, 'cancel', 'replaced by a newer job with the same key', actor,
                via, jsonb_populate_record(NULL::tenure.stop_options, '{"force": true}'), whose);
        ELSE
            id := holder.id; created := false; taken := 'unique';
            RETURN;
        END IF;
    END LOOP;

    INSERT INTO tenant.payload (job_id, args, options, budget, key, owner, tags)
    VALUES (new_id, d.args, tenure.with_timestamp(d.options, 'deadline', now_ts), d.budget, d.key, job_owner,
        d.tags);
    IF d.given IS NOT NULL THEN
        INSERT INTO tenant.unannounced (job_id, task, given)
        VALUES (new_id, d.task, d.given - ARRAY['args', 'owner', 'parent', 'after', 'key', 'idempotency',
            'run_at', 'delay']);
    END IF;
    -- A job with a parent is checked once after the commit: the parent may have been stopped meanwhile.
    IF waits = 'promotion' OR parent_job.id IS NOT NULL THEN
        INSERT INTO tenant.wake (job_id) VALUES (new_id);
    ELSIF waits = 'target' THEN
        INSERT INTO tenant.wake (target) VALUES (d.target);
    ELSIF waits = 'limit' THEN
        INSERT INTO tenant.wake (limit_name) VALUES (d.limits[1]);
    END IF;
    id := new_id; created := true;
END $$;
