-- Delete a limit; jobs that wait for it may start.
CREATE OR REPLACE FUNCTION tenant.drop_limit(
    name text, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    refusal CONSTANT json := tenant.forbidden('drop_limit', 'admin', 'limit', name, by, via, role);
    was     tenant.limit_rule;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    DELETE FROM tenant.limit_rule AS r WHERE r.name = drop_limit.name RETURNING r.* INTO was;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006', MESSAGE = format('there is no limit %L', name);
    END IF;
    DELETE FROM tenant.limit_closure AS c WHERE c.name = drop_limit.name;
    PERFORM tenant.write_audit(tenure.actor(by), via, 'drop', 'limit', name, NULL, to_jsonb(was), NULL);
    PERFORM tenant.wake_limits(name);
    RETURN json_build_object('dropped', name);
END $$;
