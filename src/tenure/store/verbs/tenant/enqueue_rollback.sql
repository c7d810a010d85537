-- The job that undoes what the completed tasks of a cancelled job have done. It runs when that one has
-- ended, whatever it became, for the same owner and in the same queue, and is part of no tree: nobody
-- stops it along with what it undoes.
CREATE OR REPLACE FUNCTION tenant.enqueue_rollback(record tenant.cancellation, via text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name CONSTANT text := tenant.cancellation_name(record.id);
    born json;
BEGIN
    SELECT tenant.enqueue(jsonb_build_object(
            'task', 'tenure.rollback', 'args', jsonb_build_object('cancellation', name), 'queue', l.queue,
            'priority', j.priority, 'idempotency', 'tenure.rollback ' || name,
            'after', jsonb_build_array(jsonb_build_object('job', j.id, 'policy', 'run'))), via => enqueue_rollback.via) -> 0
    INTO born FROM tenant.job AS j JOIN tenant.lane AS l ON l.id = j.lane WHERE j.id = record.job_id;
    -- Not as a field of the draft: whoever may stop a job may not enqueue in its owner's name.
    UPDATE tenant.payload AS p SET owner = o.owner
    FROM tenant.payload AS o WHERE p.job_id = (born ->> 'id')::bigint AND o.job_id = record.job_id;
END $$;
