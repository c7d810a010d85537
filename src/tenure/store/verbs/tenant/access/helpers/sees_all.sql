-- Whether the caller may look at all jobs of the tenant. A database role that was admitted as a producer, and
-- as nothing else, sees those of its own. Whoever is trusted asks for others, and shows them what is theirs.
CREATE OR REPLACE FUNCTION tenant.sees_all() RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN tenure.trusted() OR coalesce((
        SELECT bool_or(a.kind <> 'producer') FROM tenant.admission AS a
        JOIN pg_roles AS r ON r.rolname = a.role_name
        WHERE pg_has_role(session_user, r.oid, 'MEMBER')), true);
END $$;
