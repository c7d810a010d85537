-- Enqueue one job that Tenure itself asks for: a child of a running job, a job of a schedule, the cleanup of
-- a resource, what a rollback undoes. For workers.
--
-- "idempotency" and "unique" are keys of Tenure's own. Nobody can name one by enqueue, so no job of
-- somebody else stands for it. Keys that the job itself has belong to its owner, as in enqueue.
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
            PERFORM tenant.depend(born.id, d.after, 1, '{}', '{}');
            PERFORM tenant.refuse_cycles(ARRAY[born.id]);
        END IF;
        PERFORM tenant.notify_idle(ARRAY[d.queue]);
    END IF;
    RETURN json_build_array(
        json_build_object('id', born.id, 'created', born.created, 'taken', born.taken, 'key', d.key));
END $$;
