-- Enqueue a job that Tenure itself asks for: a child of a running job, a job of a schedule, the cleanup of
-- a resource, a step of a rollback. For workers. A schedule that is paused gets no job, and no row.
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
    d    CONSTANT tenure.draft := (tenant.drafts(jsonb_build_array(job), '{}'))[1];
    born record;
BEGIN
    IF EXISTS (SELECT FROM tenant.pause AS p
            WHERE p.subject = 'schedule' AND 'schedule:' || p.name = enqueue_reserved.by) THEN
        RETURN '[]';
    END IF;
    born := tenant.insert_job(d, 1, '{}', '{}', tenure.now(), tenure.actor(by), via, NULL,
        'tenure:' || enqueue_reserved."unique", 'tenure:' || enqueue_reserved.idempotency);
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
