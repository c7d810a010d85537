-- Return what a pending job whose dependencies are met still waits for; null: it is ready.
CREATE OR REPLACE FUNCTION tenure.waiting_for(run_at timestamptz, now_ts timestamptz, target text)
RETURNS tenure.reason
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE
    WHEN run_at IS NULL THEN 'unqueued'::tenure.reason
    WHEN run_at > now_ts THEN 'time'::tenure.reason
    WHEN target IS NOT NULL THEN 'target'::tenure.reason
END;
