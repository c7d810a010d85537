-- Create or change a named set of stop options.
--
-- "options" are those of stop: grace and ask_for (seconds), force, last_rung, cascade, preserve, rollback.
-- An option that a strategy does not have is that of a plain stop, and an option given to a stop overrides
-- its strategy.
CREATE OR REPLACE FUNCTION tenant.set_strategy(
    name text, options jsonb, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    refusal CONSTANT json := tenant.forbidden('set_strategy', 'admin', 'strategy', name, by, via, role);
    problem text;
    before  jsonb;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF coalesce(name, '') = '' OR length(name) > {strategy.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            'a strategy has a name of 1 to {strategy.max} characters';
    ELSIF jsonb_typeof(options) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'the options of a strategy are a JSON object';
    END IF;
    SELECT CASE
        WHEN o.key IN ('grace', 'ask_for') THEN CASE WHEN jsonb_typeof(o.value) <> 'number'
            OR o.value::text::numeric NOT BETWEEN 0 AND extract(epoch FROM {grace.max})
            THEN format('%s is a number of seconds of zero or more; %s is not', o.key, o.value) END
        WHEN o.key IN ('force', 'cascade', 'preserve', 'rollback') THEN CASE
        WHEN jsonb_typeof(o.value) <> 'boolean'
            THEN format('%s is true or false; %s is neither', o.key, o.value) END
        WHEN o.key = 'last_rung' THEN CASE
        WHEN coalesce(o.value #>> '{}', '') NOT IN ('asked', 'interrupted', 'terminated', 'killed')
            THEN format('last_rung is asked, interrupted, terminated or killed; %s is none of these',
                o.value) END
        ELSE format(
            'a strategy has no option %L; it has grace, ask_for, force, last_rung, cascade, '
                'preserve and rollback', o.key) END AS wrong
    INTO problem FROM jsonb_each(options) AS o ORDER BY wrong LIMIT 1;
    IF problem IS NULL AND options @> '{"force": true}' AND options ->> 'last_rung' <> 'killed' THEN
        problem := 'a strategy that forces kills; its last_rung cannot be another';
    END IF;
    IF (SELECT count(*) FROM tenant.strategy AS s WHERE s.name <> set_strategy.name) >= {strategies.max} THEN
        problem := 'a tenant has at most {strategies.max} strategies';
    END IF;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = problem;
    END IF;
    SELECT s.options INTO before FROM tenant.strategy AS s WHERE s.name = set_strategy.name FOR UPDATE;
    INSERT INTO tenant.strategy AS s (name, options, created_at, created_by)
    VALUES (set_strategy.name, set_strategy.options, tenure.now(), actor)
    ON CONFLICT ON CONSTRAINT strategy_pkey DO UPDATE SET options = excluded.options;
    PERFORM tenant.write_audit(actor, via, 'set', 'strategy', set_strategy.name, NULL, before,
        set_strategy.options);
    RETURN (SELECT to_json(s) FROM tenant.strategy AS s WHERE s.name = set_strategy.name);
END $$;
