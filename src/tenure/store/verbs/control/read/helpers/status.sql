-- Return the status that users see for a job, from its state and columns.
CREATE OR REPLACE FUNCTION tenure.status(
    state tenure.state, waiting tenure.reason, attempt smallint, intent text, draining boolean
) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN state IN ('pending', 'running', 'paused') AND intent = 'cancel' THEN 'cancelling'
    WHEN state IN ('pending', 'running') AND intent = 'pause' THEN 'pausing'
    WHEN state = 'running' AND draining THEN 'draining'
    WHEN state <> 'pending' THEN state::text
    WHEN waiting IS NULL THEN 'queued'
    WHEN waiting = 'unqueued' THEN 'pending'
    WHEN waiting = 'time' AND attempt > 0 THEN 'retrying'
    WHEN waiting = 'time' THEN 'scheduled'
    WHEN waiting = 'target' THEN 'blocked'
    ELSE 'waiting'
END;
