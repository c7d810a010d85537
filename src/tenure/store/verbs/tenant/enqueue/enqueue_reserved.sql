-- Enqueue a job that Tenure itself asks for: a child of a running job, a job of a schedule, the cleanup of
-- a resource, a step of a rollback. For workers.
--
-- "idempotency" and "unique" are Tenure's own keys. Enqueue cannot name them, so no user's job can take
-- their place. Keys of the job itself belong to its owner, as in enqueue.
CREATE OR REPLACE FUNCTION tenant.enqueue_reserved(
    job jsonb, idempotency text DEFAULT NULL, "unique" text DEFAULT NULL, by text DEFAULT NULL,
    via text DEFAULT 'sql'
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off AS $$
DECLARE
    d       CONSTANT tenure.draft := (tenant.drafts(jsonb_build_array(job), '{}'))[1];
    problem CONSTANT text := tenure.validation_error(d);
    born    record;
BEGIN
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('a job of task %s %s', quote_nullable(d.task), problem);
    END IF;
    SELECT b.* INTO born FROM tenant.insert_job(d, 1, '{}', '{}', tenure.now(), tenure.actor(by), via, NULL,
        'tenure:' || enqueue_reserved."unique", 'tenure:' || enqueue_reserved.idempotency) AS b;
    IF born.created THEN
        IF jsonb_array_length(d.after) > 0 THEN
            PERFORM tenant.insert_edges(born.id, d.after, 1, '{}', '{}');
            PERFORM tenant.refuse_cycles(ARRAY[born.id]);
        END IF;
        PERFORM tenant.notify_idle(ARRAY[d.queue]);
    END IF;
    RETURN json_build_array(
        json_build_object('id', born.id, 'created', born.created, 'taken', born.taken, 'key', d.key));
END $$;
