-- Unregister a worker. Jobs that it still holds are recovered at once. For a worker that was killed,
-- another worker on its host that has seen that nothing of it is left calls this with "killed": it counts
-- as dead. A worker that the caller may not act for is not found.
CREATE OR REPLACE FUNCTION tenure.leave(worker uuid, killed boolean DEFAULT false) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts timestamptz;
BEGIN
    PERFORM FROM tenure.worker AS w WHERE w.id = worker AND tenure.may_act_for_worker(w.registered_by)
    FOR UPDATE;
    now_ts := tenure.now();
    UPDATE tenure.worker AS w
    SET left_at = CASE WHEN NOT killed THEN now_ts END, idle = false,
        expires_at = least(w.expires_at, now_ts), dead_at = now_ts
    WHERE w.id = worker AND w.dead_at IS NULL AND tenure.may_act_for_worker(w.registered_by);
    RETURN json_build_object('left', FOUND);
END $$;
