-- Delete a strategy. Stops that used it stay as they are.
CREATE OR REPLACE FUNCTION tenant.drop_strategy(
    name text, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    refusal CONSTANT json := tenant.forbidden('drop_strategy', 'admin', 'strategy', name, by, via, role);
    was     tenant.strategy;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    DELETE FROM tenant.strategy AS s WHERE s.name = drop_strategy.name RETURNING s.* INTO was;
    IF NOT FOUND THEN
        PERFORM tenant.strategy_options(coalesce(drop_strategy.name, ''));
    END IF;
    PERFORM tenant.write_audit(tenure.actor(by), via, 'drop', 'strategy', was.name, NULL, was.options, NULL);
    RETURN json_build_object('dropped', was.name);
END $$;
