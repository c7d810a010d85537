-- Grant a running job what it asks of a limit: {"granted"}, or {"wait"} with the seconds until it may ask
-- again, or {"refused"} with the reason why it never can.
CREATE OR REPLACE FUNCTION tenant.grant_limit(job bigint, ask jsonb, now_ts timestamptz) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name   CONSTANT text := ask ->> 'limit';
    needs  CONSTANT jsonb := '{"calls": 1}'::jsonb || coalesce(ask -> 'amounts', '{}');
    l      tenure.open_limit;
    strange text;
    wait   numeric;
BEGIN
    IF EXISTS (SELECT FROM tenant.limit_grant AS g
            WHERE g.job_id = grant_limit.job AND g.number = (ask ->> 'number')::bigint) THEN
        RETURN '{"granted": true}';
    END IF;
    l := tenant.lock_limit(name);
    IF NOT l.locked THEN
        RETURN '{"wait": 0.01}';
    ELSIF NOT l.known THEN
        RETURN '{"granted": true}';
    END IF;
    strange := (SELECT min(n) FROM jsonb_object_keys(coalesce(ask -> 'amounts', '{}')) AS n
        WHERE n <> 'calls' AND NOT l.rates ? n);
    wait := tenant.limit_wait(l.rates, l.levels, needs);
    IF strange IS NOT NULL THEN
        RETURN jsonb_build_object('refused', format('the limit %L counts no %s; it counts %s', name, strange,
            coalesce((SELECT string_agg(n, ', ' ORDER BY n) FROM jsonb_object_keys(l.rates) AS n),
                'nothing')));
    ELSIF wait IS NULL THEN
        RETURN jsonb_build_object('refused', (
            SELECT format('the limit %L never grants %s %s together; its burst is %s', name, n.value, n.key,
                l.rates #>> ARRAY[n.key, 'burst'])
            FROM jsonb_each(needs) AS n
            WHERE (n.value #>> '{}')::numeric > (l.rates #>> ARRAY[n.key, 'burst'])::numeric LIMIT 1));
    ELSIF l.at_once = 1 AND EXISTS (SELECT FROM tenant.limit_grant AS g
            WHERE g.job_id = grant_limit.job AND g.number = 0 AND g.name = l.name) THEN
        RETURN jsonb_build_object('refused', format('the limit %L allows 1 at once, and this job has had it '
            'since it started, because it also names it in limits=[...]', name));
    ELSIF l.closed_until IS NOT NULL THEN
        -- An end at infinity cannot be subtracted before PostgreSQL 17.
        RETURN jsonb_build_object('wait',
            extract(epoch FROM least(l.closed_until, now_ts + interval '1s') - now_ts));
    ELSIF l.running >= l.at_once THEN
        RETURN '{"wait": 0.1}';
    ELSIF wait > 0 THEN
        RETURN jsonb_build_object('wait', least(wait, 1));
    END IF;
    l.levels := (SELECT coalesce(jsonb_object_agg(v.key,
            (v.value #>> '{}')::numeric - coalesce((needs ->> v.key)::numeric, 0)), '{}')
        FROM jsonb_each(l.levels) AS v);
    l.running := l.running + 1;
    INSERT INTO tenant.limit_grant (job_id, number, name, amounts, at)
    VALUES (grant_limit.job, (ask ->> 'number')::bigint, name, needs, now_ts);
    PERFORM tenant.save_limit(l);
    RETURN '{"granted": true}';
END $$;
