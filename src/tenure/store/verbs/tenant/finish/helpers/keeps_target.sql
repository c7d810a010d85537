-- Return whether a job in this state keeps its target closed to others.
CREATE OR REPLACE FUNCTION tenant.keeps_target(state tenure.state, blocks_paused boolean,
    blocks_failed boolean) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE state
    WHEN 'completed' THEN false
    WHEN 'cancelled' THEN false
    WHEN 'paused' THEN blocks_paused
    WHEN 'failed' THEN blocks_failed
    ELSE true
END;
