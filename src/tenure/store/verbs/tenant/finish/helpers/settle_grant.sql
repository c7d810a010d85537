-- Correct a grant by what was used and end it; close its limit if it was throttled.
CREATE OR REPLACE FUNCTION tenant.settle_grant(
    job bigint, number bigint, name text, taken jsonb, news jsonb, now_ts timestamptz
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    l            tenure.open_limit;
    closes_until timestamptz;
BEGIN
    PERFORM pg_advisory_xact_lock(tenant.limit_class(), hashtext(name));
    l := tenant.lock_limit(name);
    IF jsonb_typeof(news -> 'retry_after') = 'number' THEN
        closes_until := now_ts + make_interval(secs => least((news ->> 'retry_after')::float8, 86400));
        INSERT INTO tenant.limit_closure AS c (name, until, closed_at, closed_by, reason)
        VALUES (settle_grant.name, closes_until, now_ts, 'job:' || job, 'throttled')
        ON CONFLICT ON CONSTRAINT limit_closure_pkey DO UPDATE SET until = excluded.until,
            closed_at = excluded.closed_at, closed_by = excluded.closed_by, reason = excluded.reason
        WHERE c.until < excluded.until;
    END IF;
    IF news ? 'used' THEN
        DELETE FROM tenant.limit_grant AS g
        WHERE g.job_id = settle_grant.job AND g.number = settle_grant.number AND g.name = settle_grant.name;
        l.levels := (SELECT coalesce(jsonb_object_agg(v.key, least(
                (l.rates #>> ARRAY[v.key, 'burst'])::numeric,
                (v.value #>> '{}')::numeric + coalesce((taken ->> v.key)::numeric, 0)
                - coalesce((news #>> ARRAY['used', v.key])::numeric, (taken ->> v.key)::numeric, 0))), '{}')
            FROM jsonb_each(l.levels) AS v);
        PERFORM tenant.save_limit(l);
        INSERT INTO tenant.wake (limit_name) VALUES (settle_grant.name);
    END IF;
END $$;
