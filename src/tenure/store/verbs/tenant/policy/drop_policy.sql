-- Delete a policy. Jobs that it stopped stay stopped.
CREATE OR REPLACE FUNCTION tenant.drop_policy(
    name text, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    was     tenant.policy;
    refusal json;
BEGIN
    SELECT p.* INTO was FROM tenant.policy AS p WHERE p.name = drop_policy.name FOR UPDATE;
    refusal := tenant.policy_forbidden('drop_policy', name, was.spec, actor, by, via, role);
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF was.name IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006',
            MESSAGE = format('there is no policy %L; there are: %s', name,
            coalesce((SELECT string_agg(p.name, ', ' ORDER BY p.name) FROM tenant.policy AS p), 'none'));
    END IF;
    DELETE FROM tenant.policy AS p WHERE p.name = was.name;
    PERFORM tenant.write_audit(actor, via, 'drop', 'policy', was.name, NULL,
        jsonb_build_object('spec', was.spec, 'stopped', was.stopped), NULL);
    RETURN json_build_object('dropped', was.name);
END $$;
