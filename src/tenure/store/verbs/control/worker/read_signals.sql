-- Return what renew returns, without renewing: nothing is written, so the caller waits for no commit.
CREATE OR REPLACE FUNCTION tenure.read_signals(worker uuid) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    caller tenure.worker;
BEGIN
    SELECT w.* INTO caller FROM tenure.worker AS w
    WHERE w.id = worker AND w.dead_at IS NULL AND w.left_at IS NULL
      AND tenure.may_act_for_worker(w.registered_by);
    IF NOT FOUND THEN
        RETURN json_build_object('alive', false, 'signals', '[]'::json);
    END IF;
    RETURN json_build_object('alive', true, 'draining', caller.draining_at IS NOT NULL,
        'ending', caller.ending, 'signals', tenure.signals_of(worker));
END $$;
