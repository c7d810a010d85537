-- What renew brings back, without renewing: nothing is written, so whoever is in a hurry waits for no commit.
CREATE OR REPLACE FUNCTION tenure.read_signals(worker uuid) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ours tenure.worker;
BEGIN
    SELECT w.* INTO ours FROM tenure.worker AS w
    WHERE w.id = worker AND w.dead_at IS NULL AND w.left_at IS NULL AND tenure.speaks_for(w.registered_by);
    IF NOT FOUND THEN
        RETURN json_build_object('alive', false, 'signals', '[]'::json);
    END IF;
    RETURN json_build_object('alive', true, 'draining', ours.draining_at IS NOT NULL, 'ending', ours.ending,
        'signals', tenure.signals_of(worker));
END $$;
