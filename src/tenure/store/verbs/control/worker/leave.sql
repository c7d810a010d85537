-- A worker says goodbye. What it still holds is nobody's any more and is recovered at once. For one that
-- was killed, a neighbour on its host says so who has seen that nothing of it is left: it counts as dead.
-- Somebody else's worker is not there.
CREATE OR REPLACE FUNCTION tenure.leave(worker uuid, killed boolean DEFAULT false) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    moment timestamptz;
BEGIN
    PERFORM FROM tenure.worker AS w WHERE w.id = worker AND tenure.speaks_for(w.registered_by) FOR UPDATE;
    moment := tenure.now();
    UPDATE tenure.worker AS w
    SET left_at = CASE WHEN NOT killed THEN moment END, idle = false,
        expires_at = least(w.expires_at, moment), dead_at = moment
    WHERE w.id = worker AND w.dead_at IS NULL AND tenure.speaks_for(w.registered_by);
    RETURN json_build_object('left', FOUND);
END $$;
