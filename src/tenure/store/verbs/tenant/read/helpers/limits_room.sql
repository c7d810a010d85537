-- Return how many jobs that name these limits may start within a time; null: any number. What jobs need of
-- other units than calls is known only when they run, and does not count.
CREATE OR REPLACE FUNCTION tenant.limits_room(names text[], "within" interval) RETURNS numeric
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    RETURN (
        SELECT min(CASE WHEN EXISTS (SELECT FROM tenant.limit_closure AS c
                WHERE c.name IN (n.name, r.name) AND c.until > now_ts) THEN 0
            ELSE least(
                (r.rates #>> '{calls,amount}')::numeric * extract(epoch FROM "within")
                    / (r.rates #>> '{calls,per}')::numeric
                + (tenant.limit_levels(r.rates, coalesce(s.levels, '{}'), coalesce(s.refilled_at, now_ts),
                    now_ts) ->> 'calls')::numeric,
                CASE WHEN r.at_once IS NOT NULL THEN greatest(r.at_once - (
                    SELECT count(*) FROM tenant.limit_grant AS g WHERE g.name = n.name), 0) END) END)
        FROM unnest(names) AS n(name) CROSS JOIN LATERAL tenant.limit_for(n.name) AS r
        LEFT JOIN tenant.limit_state AS s ON s.name = n.name
        WHERE r.name IS NOT NULL);
END $$;
