-- Close a limit, or one name of a template, for a time or until it is opened: it grants nothing.
CREATE OR REPLACE FUNCTION tenant.close_limit(
    name text, duration interval DEFAULT NULL, reason text DEFAULT NULL, by text DEFAULT NULL,
    via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    now_ts  CONSTANT timestamptz := tenure.now();
    refusal CONSTANT json := tenant.forbidden('close_limit', 'admin', 'limit', name, by, via, role);
    rule    text;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF duration IS NOT NULL AND NOT duration BETWEEN interval '0' AND {grace.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'a limit is closed for 0 to 36500 days, or until it is opened';
    END IF;
    rule := coalesce((SELECT r.name FROM tenant.limit_rule AS r WHERE r.name = close_limit.name),
        (tenant.limit_for(name)).name);
    IF rule IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006', MESSAGE = format('there is no limit %L', name);
    END IF;
    -- Exclude a grant that has read that the limit is open.
    PERFORM pg_advisory_xact_lock(tenant.limit_class(), hashtext(name));
    INSERT INTO tenant.limit_closure AS c (name, until, closed_at, closed_by, reason)
    VALUES (close_limit.name, coalesce(now_ts + duration, 'infinity'), now_ts, actor, close_limit.reason)
    ON CONFLICT ON CONSTRAINT limit_closure_pkey DO UPDATE SET until = excluded.until,
        closed_at = excluded.closed_at, closed_by = excluded.closed_by, reason = excluded.reason;
    PERFORM tenant.write_audit(actor, via, 'close', 'limit', name, reason, NULL,
        jsonb_build_object('until', coalesce(now_ts + duration, 'infinity')));
    PERFORM tenant.wake_limits(name);
    RETURN tenant.limits(rule) -> 0;
END $$;
