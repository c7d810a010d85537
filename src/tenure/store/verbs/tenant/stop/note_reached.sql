-- Record how far a stop has come with running jobs of a worker. "reached" has for each job the times at
-- which the stop was delivered, a rung of the ladder was reached, or the cleanup began.
--
-- A job whose row is locked is ending, and its ending brings all times along.
CREATE OR REPLACE FUNCTION tenant.note_reached(worker uuid, cancellation text, reached jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{plain_index_scans} AS $$
DECLARE
    stop  CONSTANT bigint := tenant.cancellation_id(note_reached.cancellation);
    jobs  CONSTANT bigint[] := ARRAY(SELECT k::bigint FROM jsonb_object_keys(note_reached.reached) AS k);
    open  CONSTANT bigint[] := ARRAY(
        SELECT m.job_id FROM tenant.member AS m
        WHERE m.stop_id = stop AND m.job_id = ANY (jobs) AND m.worker_id = note_reached.worker
          AND m.became IS NULL
        FOR NO KEY UPDATE SKIP LOCKED);
BEGIN
    UPDATE tenant.member AS m SET reached = m.reached || (note_reached.reached -> m.job_id::text)
    WHERE m.stop_id = stop AND m.job_id = ANY (open);
    IF note_reached.reached @? '$.*.cleaning' THEN
        UPDATE tenant.cancellation AS c SET status = 'cleaning_resources'
        WHERE c.id = (SELECT o.id FROM tenant.cancellation AS o
                      WHERE o.id = stop AND o.completed_at IS NULL FOR NO KEY UPDATE SKIP LOCKED)
          AND NOT EXISTS (SELECT FROM tenant.member AS m WHERE m.stop_id = stop AND m.ended_at IS NULL
                          AND m.worker_id IS NOT NULL AND NOT m.reached ? 'cleaning');
    END IF;
    PERFORM tenant.notify_watchers(ARRAY[stop]);
    RETURN to_json(cardinality(open));
END $$;
