-- Grant every admitted role what its kind may do in this version, after an upgrade. A role that is gone, or
-- whose rights were revoked, is left alone.
CREATE OR REPLACE FUNCTION tenant.regrant_verbs() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    admitted tenant.admission;
BEGIN
    FOR admitted IN
        SELECT a.* FROM tenant.admission AS a JOIN pg_roles AS r ON r.rolname = a.role_name
        WHERE has_function_privilege(r.oid, 'tenant.show(bigint)', 'EXECUTE')  -- every kind may call it
    LOOP
        PERFORM tenant.grant_verbs(admitted.role_name, admitted.kind);
    END LOOP;
END $$;
