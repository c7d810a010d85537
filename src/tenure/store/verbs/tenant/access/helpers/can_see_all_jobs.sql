-- Return whether the caller may see all jobs of the tenant. A database role that was admitted as a producer
-- only sees its own. A trusted caller asks on behalf of others, and filters for them.
CREATE OR REPLACE FUNCTION tenant.can_see_all_jobs() RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN tenure.is_trusted() OR coalesce((
        SELECT bool_or(a.kind <> 'producer') FROM tenant.admission AS a
        JOIN pg_roles AS r ON r.rolname = a.role_name
        WHERE pg_has_role(session_user, r.oid, 'MEMBER')), true);
END $$;
