-- Record that a request was refused before any verb was called, and why.
CREATE OR REPLACE FUNCTION tenant.refuse(
    verb text, why text, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM tenant.refused(verb, 'tenant', '', tenure.actor(by), via, why);
    RETURN json_build_object('refused', left(verb, {verb.max}));
END $$;
