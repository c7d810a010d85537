-- Return whether the caller is a member of the owner of the schema or of tenure_delegate.
CREATE OR REPLACE FUNCTION tenure.access_is_delegated() RETURNS boolean
LANGUAGE sql STABLE
RETURN EXISTS (
    SELECT FROM pg_catalog.pg_roles AS r
    WHERE r.rolname IN (current_user, 'tenure_delegate') AND pg_has_role(session_user, r.oid, 'MEMBER'));
