-- Insert one job, or find the one that has its key. With "whose" only a job of this owner is replaced.
-- A task belongs to the owner of its parent, if it names no other.
CREATE OR REPLACE FUNCTION tenant.bear(
    d tenure.draft, mother tenant.job, moment timestamptz, actor text, via text, whose text,
    OUT id bigint, OUT created boolean, OUT taken text
)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    due     CONSTANT timestamptz := CASE WHEN d.run_at >= '9999-12-31 00:00+00' THEN NULL
        WHEN d.delay IS NOT NULL THEN moment + d.delay ELSE coalesce(d.run_at, moment) END;
    waits   CONSTANT tenure.reason := CASE
        WHEN d.task IS NULL THEN 'tasks'::tenure.reason
        WHEN due IS NULL THEN 'unqueued'
        WHEN mother.id IS NOT NULL OR jsonb_array_length(d.after) > 0 THEN 'promotion'
        ELSE tenure.waiting_for(due, moment, d.target) END;
    new_id  CONSTANT bigint := nextval('tenant.job_id_seq');
    keyed   CONSTANT boolean := d."unique" IS NOT NULL OR d.idempotency IS NOT NULL;
    holder  tenant.job;
BEGIN
    LOOP
        INSERT INTO tenant.job (id, root_id, parent_id, turn, run_at, created_at, lane, waiting, priority,
            max_attempts, ready, blocks_paused, blocks_failed, orphan_fails, target, unique_key, idempotency_key)
        OVERRIDING SYSTEM VALUE
        VALUES (new_id, coalesce(mother.root_id, new_id), mother.id,
            CASE WHEN waits IS NULL THEN nextval('tenant.turn') ELSE 0 END, due, moment,
            tenant.lane_of(d.queue, d.task, d.pools), waits, d.priority, d.max_attempts, waits IS NULL,
            'paused' = ANY (d.block_on), 'failed' = ANY (d.block_on), d.orphan = 'fail',
            d.target, d."unique", d.idempotency)
        ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND OR NOT keyed;

        SELECT j.* INTO holder FROM tenant.job AS j WHERE j.idempotency_key = d.idempotency;
        IF FOUND THEN
            id := holder.id; created := false; taken := 'idempotency';
            RETURN;
        END IF;
        SELECT j.* INTO holder FROM tenant.job AS j
        WHERE j.unique_key = d."unique" AND j.state IN ('pending', 'running', 'paused');
        CONTINUE WHEN NOT FOUND;  -- it ended in between: the key is free
        IF d.when_taken = 'refuse' THEN
            RAISE EXCEPTION USING ERRCODE = 'TN004', MESSAGE = format(
                'job %s has the unique key %L and is %s', holder.id, d."unique", holder.state);
        ELSIF d.when_taken = 'replace' AND holder.state = 'pending' AND holder.attempt = 0 AND holder.stop_id IS NULL
                AND NOT tenant.runs_below(holder.id)
                AND (whose IS NULL OR whose = (SELECT p.owner FROM tenant.payload AS p WHERE p.job_id = holder.id)) THEN
            -- Keys are taken in their order and trees are locked in that of ids: not waited for.
            PERFORM FROM tenant.job AS r WHERE r.id = holder.root_id FOR UPDATE NOWAIT;
            -- By force: one that a plain cancel only pauses would keep the key.
            PERFORM tenant.stop_job(holder.id, 'cancel', 'replaced by a newer job with the same key', actor, via, force => true, whose => whose);
        ELSE
            id := holder.id; created := false; taken := 'unique';
            RETURN;
        END IF;
    END LOOP;

    INSERT INTO tenant.payload (job_id, args, options, budget, key, owner, tags)
    VALUES (new_id, d.args, tenure.dated(d.options, 'deadline', moment), d.budget, d.key,
        CASE WHEN d.owner IS NOT NULL THEN tenure.actor(d.owner)
             ELSE coalesce((SELECT p.owner FROM tenant.payload AS p WHERE p.job_id = mother.id), actor) END, d.tags);
    -- Whoever has a parent is looked at once after the commit: the parent may have been stopped meanwhile.
    IF waits = 'promotion' OR mother.id IS NOT NULL THEN
        INSERT INTO tenant.wake (job_id) VALUES (new_id);
    ELSIF waits = 'target' THEN
        INSERT INTO tenant.wake (target) VALUES (d.target);
    END IF;
    id := new_id; created := true;
END $$;
