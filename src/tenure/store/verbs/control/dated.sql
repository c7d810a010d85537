-- The object with a moment in place of a number of seconds under this name: from this moment on, or before it.
-- Whoever calls says how long, and the database says when: the clocks of clients may be wrong.
CREATE OR REPLACE FUNCTION tenure.dated(told jsonb, name text, moment timestamptz, past boolean DEFAULT false)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE WHEN jsonb_typeof(told -> name) = 'number' THEN told || jsonb_build_object(name,
    moment + make_interval(secs => (told ->> name)::double precision * CASE WHEN past THEN -1 ELSE 1 END)) ELSE told END;
