-- Ask a worker to finish its running jobs and claim no more; it learns of it at its next renewal.
CREATE OR REPLACE FUNCTION tenure.drain(
    worker uuid, reason text DEFAULT NULL, by text DEFAULT NULL, via text DEFAULT 'sql',
    role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    refusal CONSTANT json := tenure.forbidden('drain', 'admin', 'worker', worker::text, by, via, role);
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    UPDATE tenure.worker AS w SET draining_at = coalesce(w.draining_at, now_ts), idle = false
    WHERE w.id = worker AND w.dead_at IS NULL AND w.left_at IS NULL;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006', MESSAGE = format('there is no live worker %s', worker);
    END IF;
    PERFORM pg_notify('tenure_' || worker, 'orders');
    PERFORM tenure.write_audit(tenure.actor(by), via, 'drain', 'worker', worker::text, reason,
        '{"draining": false}', '{"draining": true}');
    RETURN json_build_object('worker_id', worker, 'draining_at', now_ts);
END $$;
