-- List limits with the names that they limit: what is left of each unit, the grants in use, the line and
-- whether it is closed. At most a hundred names of each, longest line first.
CREATE OR REPLACE FUNCTION tenant.limits(name text DEFAULT NULL) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    RETURN (
        WITH named AS (
            SELECT s.name, (tenant.limit_for(s.name)).name AS rule, s.levels, s.refilled_at, s.due_at,
                s.lined FROM tenant.limit_state AS s
            UNION
            SELECT c.name, (tenant.limit_for(c.name)).name, '{}', now_ts, NULL, false
            FROM tenant.limit_closure AS c
            WHERE c.until > now_ts AND c.name NOT IN (SELECT s.name FROM tenant.limit_state AS s)
              AND c.name NOT IN (SELECT r.name FROM tenant.limit_rule AS r)
        ), shown AS (
            SELECT r.name AS rule, k.name, json_build_object('name', k.name,
                'levels', tenant.limit_levels(r.rates, k.levels, k.refilled_at, now_ts),
                'in_use', (SELECT count(*) FROM tenant.limit_grant AS g WHERE g.name = k.name),
                'waiting', w.n, 'closed', (
                    SELECT json_build_object('until', nullif(c.until, 'infinity'), 'by', c.closed_by,
                        'reason', c.reason)
                    FROM tenant.limit_closure AS c WHERE c.name = k.name AND c.until > now_ts),
                'due_at', CASE WHEN k.lined AND isfinite(k.due_at) THEN k.due_at END) AS state,
                row_number() OVER (PARTITION BY r.name ORDER BY w.n DESC, k.name) AS place
            FROM tenant.limit_rule AS r JOIN named AS k ON k.rule = r.name
            CROSS JOIN LATERAL (SELECT count(*) AS n FROM tenant.job AS j
                WHERE j.waiting = 'limit' AND j.limits[1] = k.name) AS w
            WHERE limits.name IS NULL OR r.name = limits.name
        )
        SELECT coalesce(json_agg(json_build_object('name', r.name, 'rates', r.rates, 'at_once', r.at_once,
            'created_at', r.created_at, 'created_by', r.created_by,
            'closed', (SELECT json_build_object('until', nullif(c.until, 'infinity'), 'by', c.closed_by,
                    'reason', c.reason)
                FROM tenant.limit_closure AS c WHERE c.name = r.name AND c.until > now_ts),
            'names', (SELECT coalesce(json_agg(k.state ORDER BY k.place), '[]') FROM shown AS k
                WHERE k.rule = r.name AND k.place <= 100)) ORDER BY r.name), '[]')
        FROM tenant.limit_rule AS r WHERE limits.name IS NULL OR r.name = limits.name);
END $$;
