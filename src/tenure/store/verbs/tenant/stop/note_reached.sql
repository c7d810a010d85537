-- Record how far a stop has come with running jobs of a worker. "reached" has for each job the times at
-- which the stop was delivered, a rung of the ladder was reached, or the cleanup began.
--
-- A job whose row is locked is ending, and its ending brings all times along.
CREATE OR REPLACE FUNCTION tenant.note_reached(worker uuid, cancellation text, reached jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stop  CONSTANT bigint := tenant.cancellation_id(note_reached.cancellation);
    noted integer;
BEGIN
    UPDATE tenant.member AS m SET reached = m.reached || r.times
    FROM (
        SELECT o.job_id, r.value AS times FROM jsonb_each(note_reached.reached) AS r
        JOIN tenant.member AS o ON o.stop_id = stop AND o.job_id = r.key::bigint
        WHERE o.worker_id = note_reached.worker AND o.ended_at IS NULL
        FOR NO KEY UPDATE OF o SKIP LOCKED) AS r
    WHERE m.stop_id = stop AND m.job_id = r.job_id;
    GET DIAGNOSTICS noted = ROW_COUNT;
    IF note_reached.reached @? '$.*.cleaning' THEN
        UPDATE tenant.cancellation AS c SET status = 'cleaning_resources'
        WHERE c.id = (SELECT o.id FROM tenant.cancellation AS o
                      WHERE o.id = stop AND o.completed_at IS NULL FOR NO KEY UPDATE SKIP LOCKED)
          AND NOT EXISTS (SELECT FROM tenant.member AS m WHERE m.stop_id = stop AND m.ended_at IS NULL
                          AND m.worker_id IS NOT NULL AND NOT m.reached ? 'cleaning');
    END IF;
    PERFORM tenant.notify_watchers(ARRAY[stop]);
    RETURN to_json(noted);
END $$;
