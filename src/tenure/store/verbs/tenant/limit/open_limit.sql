-- Open a limit, or one name of a template, that is closed.
CREATE OR REPLACE FUNCTION tenant.open_limit(
    name text, reason text DEFAULT NULL, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    refusal CONSTANT json := tenant.forbidden('open_limit', 'admin', 'limit', name, by, via, role);
    was     tenant.limit_closure;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    DELETE FROM tenant.limit_closure AS c WHERE c.name = open_limit.name RETURNING c.* INTO was;
    IF NOT FOUND THEN
        RETURN json_build_object('opened', false);
    END IF;
    PERFORM tenant.write_audit(tenure.actor(by), via, 'open', 'limit', name, reason, to_jsonb(was), NULL);
    PERFORM tenant.wake_limits(name);
    RETURN json_build_object('opened', true);
END $$;
