-- Delete the state of limits that have nothing to remember: no line, no grant, and everything refilled. Wake
-- lines that wait for a time that the clock, set back meanwhile, would reach much later.
CREATE OR REPLACE FUNCTION tenant.prune_limits(n integer) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    l      tenure.open_limit;
BEGIN
    DELETE FROM tenant.limit_closure AS c WHERE c.until < now_ts;
    INSERT INTO tenant.wake (limit_name)
    SELECT s.name FROM tenant.limit_state AS s WHERE s.lined AND s.refilled_at > now_ts;
    FOR l IN
        -- In a random order: names that refill slowly must not hold up the others.
        SELECT k.* FROM (
            SELECT o.name FROM tenant.limit_state AS o
            WHERE o.refilled_at < now_ts - interval '1 hour' AND NOT o.lined ORDER BY random() LIMIT n) AS s
        CROSS JOIN LATERAL tenant.lock_limit(s.name) AS k
    LOOP
        DELETE FROM tenant.limit_state AS s
        WHERE l.locked AND s.name = l.name AND NOT s.lined AND s.called = '{}'
          AND tenant.limit_wait(l.rates, l.levels,
              (SELECT coalesce(jsonb_object_agg(r.key, r.value -> 'burst'), '{}')
                  FROM jsonb_each(l.rates) AS r)) = 0;
    END LOOP;
END $$;
