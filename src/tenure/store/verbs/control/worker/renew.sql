-- Push a worker's lease out, and bring back all it must hear about its jobs.
--
-- "alive": false means somebody has declared it dead: it must kill what it still runs and start anew. A
-- late renewal counts as long as nobody has. The cost is one row, whatever the worker holds. A worker
-- that says what it believes to hold ("holding", a list of tenant, job and token) also hears what of it
-- is not its own any more ("lost"). "trouble" is why it can start no runner, for explain. "runners" are
-- its runners, by id, where they are others than before; "ending" are those that somebody wants to end.
CREATE OR REPLACE FUNCTION tenure.renew(
    worker uuid, holding jsonb DEFAULT '[]', trouble text DEFAULT NULL, runners jsonb DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    moment  timestamptz;
    renewed tenure.worker;
BEGIN
    -- The lock before the clock: whoever waited here for a sweep must not renew with an old time.
    PERFORM FROM tenure.worker AS w WHERE w.id = worker AND tenure.speaks_for(w.registered_by)
    FOR NO KEY UPDATE;
    moment := tenure.now();
    UPDATE tenure.worker AS w
    SET beat_at = moment, expires_at = greatest(w.expires_at, moment + w.lease),
        trouble = left(renew.trouble, {trouble.most}), runners = coalesce(renew.runners, w.runners),
        -- Those that are gone need no ending.
        ending = CASE WHEN w.ending = '{}' OR renew.runners IS NULL THEN w.ending ELSE (
            SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}') FROM jsonb_each(w.ending) AS e
            WHERE renew.runners ? e.key) END
    WHERE w.id = worker AND w.dead_at IS NULL AND w.left_at IS NULL AND tenure.speaks_for(w.registered_by)
    RETURNING w.* INTO renewed;
    IF NOT FOUND THEN
        RETURN json_build_object('alive', false, 'signals', '[]'::json, 'lost', holding);
    END IF;
    RETURN json_build_object(
        'alive', true,
        'expires_at', renewed.expires_at,
        'draining', renewed.draining_at IS NOT NULL,
        'ending', renewed.ending,
        'signals', tenure.signals_of(worker),
        'lost', tenure.lost(worker, holding));
END $$;
