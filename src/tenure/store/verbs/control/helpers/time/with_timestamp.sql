-- Return the object with a timestamp instead of a number of seconds under this name, counted from now on or
-- back from now. The caller gives the duration and the database the time, because clocks of clients may be
-- wrong. A time before the earliest that can be stored becomes the earliest.
CREATE OR REPLACE FUNCTION tenure.with_timestamp(fields jsonb, name text, now_ts timestamptz,
    past boolean DEFAULT false)
RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN CASE
    WHEN jsonb_typeof(fields -> name) IS DISTINCT FROM 'number' THEN fields
    WHEN (fields -> name)::numeric NOT BETWEEN 0 AND extract(epoch FROM {deadline.max})
        THEN to_jsonb(tenure.abort(format('%s takes a number of seconds from 0 to 36500 days',
            to_json(name))))
    ELSE fields || jsonb_build_object(name, greatest({run_at.earliest}, now_ts
        + make_interval(secs => (fields ->> name)::double precision * CASE WHEN past THEN -1 ELSE 1 END)))
            END;
