-- Return the newest attempts of a job that did not complete it, oldest first.
CREATE OR REPLACE FUNCTION tenant.latest_attempts(job bigint, n integer) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object('attempt', a.attempt, 'started_at', a.started_at,
        'ended_at', a.ended_at, 'outcome', a.outcome, 'rung', a.rung) ORDER BY a.started_at), '[]')
    FROM (SELECT * FROM tenant.attempt AS a WHERE a.job_id = latest_attempts.job
        ORDER BY a.started_at DESC LIMIT n) AS a;
$$;
