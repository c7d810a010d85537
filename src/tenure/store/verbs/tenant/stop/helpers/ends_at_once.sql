-- Return whether a job that is stopped ends immediately: neither it nor a descendant runs.
CREATE OR REPLACE FUNCTION tenant.ends_at_once(state tenure.state, ends tenure.state, runs_below boolean)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN NOT runs_below AND (state = 'pending' OR (state = 'paused' AND ends = 'cancelled'));
