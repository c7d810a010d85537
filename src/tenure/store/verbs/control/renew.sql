-- Push a worker's lease out, and bring back all it must hear about its jobs.
--
-- "alive": false means somebody has declared it dead: it must kill what it still runs and start
-- anew. A late renewal counts as long as nobody has. The cost is one row, whatever the worker holds.
-- A worker that says what it believes to hold ("holding", a list of tenant, job and token) also hears
-- what of it is not its own any more ("lost"). "trouble" is why it can start no runner, for explain.
CREATE OR REPLACE FUNCTION tenure.renew(
    worker uuid, holding jsonb DEFAULT '[]', trouble text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    moment  timestamptz;
    renewed tenure.worker;
BEGIN
    -- The lock before the clock: whoever waited here for a sweep must not renew with an old time.
    PERFORM FROM tenure.worker AS w WHERE w.id = worker FOR NO KEY UPDATE;
    moment := tenure.now();
    UPDATE tenure.worker AS w
    SET beat_at = moment, expires_at = greatest(w.expires_at, moment + w.lease), trouble = renew.trouble
    WHERE w.id = worker AND w.dead_at IS NULL AND w.left_at IS NULL
    RETURNING w.* INTO renewed;
    IF NOT FOUND THEN
        RETURN json_build_object('alive', false, 'signals', '[]'::json, 'lost', holding);
    END IF;
    RETURN json_build_object(
        'alive', true,
        'expires_at', renewed.expires_at,
        'draining', renewed.draining_at IS NOT NULL,
        'signals', tenure.signals_of(worker),
        'lost', tenure.lost(worker, holding));
END $$;
