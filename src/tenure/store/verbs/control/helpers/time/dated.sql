-- The object with a moment in place of a number of seconds under this name: from this moment on, or
-- before it. The caller says how long, and the database says when: the clocks of clients may be wrong. A
-- time before the earliest that can be stored is that one.
CREATE OR REPLACE FUNCTION tenure.dated(told jsonb, name text, moment timestamptz, past boolean DEFAULT false)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN jsonb_typeof(told -> name) IS DISTINCT FROM 'number' THEN told
    WHEN (told -> name)::numeric NOT BETWEEN 0 AND extract(epoch FROM {deadline.most})
        THEN to_jsonb(tenure.abort(format('%s takes a number of seconds from 0 to 36500 days',
            to_json(name))))
    ELSE told || jsonb_build_object(name, greatest({run_at.earliest}, moment
        + make_interval(secs => (told ->> name)::double precision * CASE WHEN past THEN -1 ELSE 1 END))) END;
