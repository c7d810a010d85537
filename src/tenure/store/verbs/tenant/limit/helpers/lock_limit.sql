-- Lock a limit until the end of the transaction and return its state. If another transaction has it, it is
-- returned as not locked; a caller that "waits" waits for it, but not for long.
--
-- The time and the snapshot of each statement below are from after the lock: they follow all that earlier
-- holders have granted.
--
-- The clock may have been set back since the limit was refilled. Nothing is refilled for the time that is
-- repeated, but for no longer than a whole refill takes: a clock that was a year ahead must not close a limit
-- for a year.
CREATE OR REPLACE FUNCTION tenant.lock_limit(name text, waits boolean DEFAULT false)
RETURNS tenure.open_limit
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    l     tenure.open_limit;
    state tenant.limit_state;
    rule  tenant.limit_rule;
BEGIN
    l.name := name;
    l.locked := pg_try_advisory_xact_lock(tenant.limit_class(), hashtext(name))
        OR (waits AND tenant.wait_for_limit(name));
    IF NOT l.locked THEN
        RETURN l;
    END IF;
    l.at := tenure.now();
    rule := tenant.limit_for(name);
    SELECT s.* INTO state FROM tenant.limit_state AS s WHERE s.name = lock_limit.name;
    l.known := rule.name IS NOT NULL;
    l.rates := coalesce(rule.rates, '{}');
    l.at_once := rule.at_once;
    IF state.refilled_at > l.at THEN
        state.refilled_at := least(state.refilled_at,
            l.at + make_interval(secs => tenant.limit_refill(l.rates)));
        UPDATE tenant.limit_state AS s SET refilled_at = state.refilled_at WHERE s.name = lock_limit.name;
    END IF;
    l.levels := tenant.limit_levels(l.rates, coalesce(state.levels, '{}'),
        coalesce(state.refilled_at, l.at), l.at);
    l.running := CASE WHEN rule.at_once IS NULL THEN 0 ELSE (
        SELECT count(*) FROM tenant.limit_grant AS g WHERE g.name = lock_limit.name) END;
    l.closed_until := (SELECT max(c.until) FROM tenant.limit_closure AS c
        WHERE c.name IN (lock_limit.name, rule.name) AND c.until > l.at);
    l.lined := coalesce(state.lined, false);
    l.called := coalesce(state.called, '{}');
    RETURN l;
END $$;
