-- Return the role of the caller. A trusted caller states it, and is an admin if it does not. For any other
-- caller it is what the database role was admitted as, whatever it states. A role that was granted a verb
-- without an admission is an operator: it controls its own jobs.
CREATE OR REPLACE FUNCTION tenant.role_of(given text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT tenure.is_trusted() THEN
        RETURN (
            SELECT CASE
                WHEN bool_or(a.kind IN ('admin', 'worker')) THEN 'admin'
                WHEN bool_and(a.kind = 'viewer') THEN 'viewer'
                ELSE 'operator' END
            FROM tenant.admission AS a JOIN pg_roles AS r ON r.rolname = a.role_name
            WHERE pg_has_role(session_user, r.oid, 'MEMBER'));
    ELSIF given IS NULL THEN
        RETURN 'admin';
    ELSIF given IN ('viewer', 'operator', 'admin') THEN
        RETURN given;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'TN001',
        MESSAGE = format('a role is viewer, operator or admin; %L is none of these', given);
END $$;
