-- Create a limit or replace it: by unit what may be used in an interval, and how many grants may be in use
-- at once.
--
-- "rates" is {"calls": {"amount": 60, "per": "1m", "burst": 10}, "tokens": ...}; the burst is the amount, if
-- it is left out. What was used before counts on.
CREATE OR REPLACE FUNCTION tenant.set_limit(
    name text, rates jsonb DEFAULT '{}', at_once integer DEFAULT NULL, by text DEFAULT NULL,
    via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    refusal CONSTANT json := tenant.forbidden('set_limit', 'admin', 'limit', name, by, via, role);
    problem text;
    before  jsonb;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    problem := tenure.limit_error(name, rates, at_once);
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = problem;
    ELSIF (SELECT count(*) FROM tenant.limit_rule AS r WHERE r.name <> set_limit.name)
            >= {limits_in_all.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a tenant has at most {limits_in_all.max} limits';
    END IF;
    before := (SELECT to_jsonb(r) FROM tenant.limit_rule AS r WHERE r.name = set_limit.name);
    INSERT INTO tenant.limit_rule AS r (name, pattern, rates, at_once, created_at, created_by)
    VALUES (set_limit.name, tenant.limit_pattern(set_limit.name), (
        SELECT coalesce(jsonb_object_agg(e.key, jsonb_build_object('amount', e.value -> 'amount',
            'per', tenure.as_seconds(e.value -> 'per'),
            'burst', coalesce(nullif(e.value -> 'burst', 'null'), e.value -> 'amount'))), '{}')
        FROM jsonb_each(set_limit.rates) AS e), set_limit.at_once, tenure.now(), actor)
    ON CONFLICT ON CONSTRAINT limit_rule_pkey DO UPDATE SET rates = excluded.rates,
        at_once = excluded.at_once;
    PERFORM tenant.write_audit(actor, via, 'set', 'limit', set_limit.name, NULL, before,
        (SELECT to_jsonb(r) FROM tenant.limit_rule AS r WHERE r.name = set_limit.name));
    PERFORM tenant.wake_limits(set_limit.name);
    RETURN tenant.limits(set_limit.name) -> 0;
END $$;
