-- Return up to n jobs that a policy matches: alive, not being stopped, in its filter, and all conditions
-- hold.
CREATE OR REPLACE FUNCTION tenant.policy_jobs(spec jsonb, now_ts timestamptz, n integer) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    failing CONSTANT integer[] := tenant.policy_failing(spec, now_ts);
    wanted  text;
    ids     bigint[];
BEGIN
    IF failing = '{}' THEN
        RETURN '{}';
    END IF;
    SELECT string_agg(CASE c.key
        WHEN 'at' THEN '$3 >= ($2 ->> ''at'')::timestamptz'
        WHEN 'age' THEN 'j.created_at <= $3 - ($2 ->> ''age'')::interval'
        WHEN 'running' THEN 'j.state = ''running'' AND j.started_at <= $3 - ($2 ->> ''running'')::interval'
        -- Not jobs that wait for their children or for their time: they wait as intended.
        WHEN 'waiting'
            THEN '(j.ready OR j.waiting = ''target'' OR j.waiting IN (''promotion'', ''dependencies'')
            OR ' || tenant.filter_by_task() || ') AND j.run_at <= $3 - ($2 ->> ''waiting'')::interval'
        -- A ready job has spent nothing, or is about to continue.
        WHEN 'budget' THEN 'NOT j.ready AND NOT EXISTS (
            SELECT FROM jsonb_each($2 -> ''budget'') AS b CROSS JOIN LATERAL (
                SELECT sum(x.amount) AS amount FROM tenant.spent AS x
                WHERE x.job_id = j.id AND x.unit = b.key) AS x
            WHERE NOT coalesce(CASE jsonb_typeof(b.value)
                WHEN ''number'' THEN x.amount >= b.value::numeric * (p.budget ->> b.key)::numeric
                ELSE x.amount > (b.value ->> ''above'')::numeric END, false))'
        WHEN 'parent_failed'
            THEN '(SELECT u.state = ''failed'' FROM tenant.job AS u WHERE u.id = j.parent_id)'
        WHEN 'superseded' THEN '(SELECT true FROM tenant.payload AS x JOIN tenant.job AS u ON u.id = x.job_id
            WHERE x.key = p.key AND x.owner = p.owner AND x.job_id > j.id
              AND u.parent_id IS NOT DISTINCT FROM j.parent_id AND u.state <> ''cancelled'' LIMIT 1)'
        WHEN 'error_rate' THEN format('j.lane = ANY (%L::integer[])', failing)
        ELSE 'false' END, ' AND ')  -- of an unknown condition
    INTO wanted FROM jsonb_object_keys(spec -> 'when') AS c(key);
    -- With OFFSET 0; otherwise the planner would read all jobs in the hope of finding n early.
    EXECUTE format(
        'SELECT ARRAY(SELECT x.id FROM (SELECT j.id, j.root_id %s AND %s
            AND (s.intent IS NULL OR j.state = ''paused'') AND %s OFFSET 0) AS x
        ORDER BY x.root_id, x.id LIMIT $4)',
        tenant.filtered_jobs(spec -> 'filter'), tenant.filter_reached(spec ->> 'intent', false), wanted)
    INTO ids USING spec -> 'filter', spec -> 'when', now_ts, n;
    RETURN ids;
END $$;
