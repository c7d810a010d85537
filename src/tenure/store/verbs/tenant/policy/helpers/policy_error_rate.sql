-- Return the share of failed jobs among the last that completed or failed, in these lanes and with this
-- tag; null while there are fewer of them. It reads back only as far as it must.
CREATE OR REPLACE FUNCTION tenant.policy_error_rate(
    lanes integer[], tag text, last integer, within interval, now_ts timestamptz
) RETURNS numeric
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    span  interval := least(within, interval '10 s');
    ended integer;
    rate  numeric;
BEGIN
    LOOP
        SELECT count(*), avg((e.state = 'failed')::integer) INTO ended, rate FROM (
            SELECT j.state FROM tenant.job AS j
            WHERE j.ended_at > now_ts - span AND j.state IN ('completed', 'failed')
              AND (lanes IS NULL OR j.lane = ANY (lanes))
              AND (policy_error_rate.tag IS NULL OR EXISTS (
                SELECT FROM tenant.payload AS p
                WHERE p.job_id = j.id AND p.tags @> ARRAY[policy_error_rate.tag]))
            ORDER BY j.ended_at DESC, j.id DESC LIMIT last) AS e;
        EXIT WHEN ended >= last OR span >= within;
        span := least(span * 10, within);
    END LOOP;
    RETURN CASE WHEN ended >= last THEN rate END;
END $$;
