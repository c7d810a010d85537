-- Renew a worker's lease, and return every signal about its jobs.
--
-- "alive": false means that the worker was declared dead: it must kill what it still runs and start again
-- under a new id. A late renewal counts until then. The cost is one row, however many jobs the worker
-- holds. A worker that passes the jobs it believes to hold ("holding", a list of tenant, job and token)
-- gets those back that it no longer holds ("lost"). "trouble" is why it cannot start a runner, for explain.
-- "runners" are its runners by id, if they changed; "ending" are the runners that it must end. "run_times"
-- are the seconds that runs of a task take, of the tasks where they changed.
CREATE OR REPLACE FUNCTION tenure.renew(
    worker uuid, holding jsonb DEFAULT '[]', trouble text DEFAULT NULL, runners jsonb DEFAULT NULL,
    run_times jsonb DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    now_ts  timestamptz;
    renewed tenure.worker;
BEGIN
    -- Lock before reading the clock: a renewal that waited here for a sweep must not use an old time.
    PERFORM FROM tenure.worker AS w WHERE w.id = worker AND tenure.may_act_for_worker(w.registered_by)
    FOR NO KEY UPDATE;
    now_ts := tenure.now();
    UPDATE tenure.worker AS w
    SET beat_at = now_ts, expires_at = greatest(w.expires_at, now_ts + w.lease),
        trouble = left(renew.trouble, {trouble.max}), runners = coalesce(renew.runners, w.runners),
        run_times = CASE WHEN renew.run_times IS NULL THEN w.run_times ELSE w.run_times || (
            SELECT coalesce(jsonb_object_agg(t.key, t.value), '{}')
            FROM (SELECT * FROM jsonb_each(renew.run_times) LIMIT {announced.max}) AS t
            WHERE jsonb_typeof(t.value) = 'number' AND length(t.key) <= {task.max}) END,
        -- Runners that are gone need not be ended.
        ending = CASE WHEN w.ending = '{}' OR renew.runners IS NULL THEN w.ending ELSE (
            SELECT coalesce(jsonb_object_agg(e.key, e.value), '{}') FROM jsonb_each(w.ending) AS e
            WHERE renew.runners ? e.key) END
    WHERE w.id = worker AND w.dead_at IS NULL AND w.left_at IS NULL
      AND tenure.may_act_for_worker(w.registered_by)
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
        'lost', tenure.lost_jobs(worker, holding));
END $$;
