-- Let a database role do what a producer, a viewer, an operator, an admin or a worker does, and nothing
-- else. Roles get the functions they need and no right on any table. Run by the owner of the schema.
CREATE OR REPLACE FUNCTION tenant.admit(role_name text, kind text) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    granted CONSTANT text[] := tenant.grant_verbs(role_name, kind);
BEGIN
    INSERT INTO tenant.admission (role_name, kind) VALUES (admit.role_name, admit.kind)
    ON CONFLICT DO NOTHING;
    PERFORM tenant.write_audit(tenure.actor(NULL), 'sql', 'admit', 'role', role_name, NULL, NULL,
        jsonb_build_object('kind', kind));
    RETURN json_build_object('role', role_name, 'kind', kind, 'verbs', to_json(granted));
END $$;
