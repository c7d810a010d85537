-- After an upgrade: every role that was admitted gets what its kind may do now. A role that is gone, or
-- whose rights somebody has taken away, is left alone.
CREATE OR REPLACE FUNCTION tenant.readmit() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    one tenant.admission;
BEGIN
    FOR one IN
        SELECT a.* FROM tenant.admission AS a JOIN pg_roles AS r ON r.rolname = a.role_name
        WHERE has_function_privilege(r.oid, 'tenant.show(bigint)', 'EXECUTE')  -- which every kind may call
    LOOP
        PERFORM tenant.grant_verbs(one.role_name, one.kind);
    END LOOP;
END $$;
