-- Return why a job may have to wait for a limit, as a sentence; null: it does not.
CREATE OR REPLACE FUNCTION tenant.limit_sentence(name text, waiting boolean) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    rule   CONSTANT tenant.limit_rule := tenant.limit_for(name);
    closed tenant.limit_closure;
    state  tenant.limit_state;
BEGIN
    SELECT c.* INTO closed FROM tenant.limit_closure AS c
    WHERE c.name IN (limit_sentence.name, rule.name) AND c.until > now_ts ORDER BY c.until DESC LIMIT 1;
    SELECT s.* INTO state FROM tenant.limit_state AS s WHERE s.name = limit_sentence.name;
    RETURN CASE
        WHEN closed.name IS NOT NULL THEN format('its limit %s is closed by %s %s%s', name, closed.closed_by,
            CASE WHEN isfinite(closed.until) THEN format('until %s', date_trunc('second', closed.until))
                ELSE 'until it is opened' END,
            coalesce(': ' || closed.reason, ''))
        WHEN NOT waiting OR NOT coalesce(state.lined, false) THEN NULL
        WHEN state.due_at = 'infinity' THEN
            format('its limit %s allows %s at once, and all of them are in use', name, rule.at_once)
        WHEN state.due_at > now_ts THEN
            format('its limit %s is used up; the first job that waits for it may start at %s',
                name, date_trunc('second', state.due_at))
        ELSE format('its limit %s has room again; the jobs that wait for it are about to start', name) END;
END $$;
