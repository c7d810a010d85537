-- Return whether the role of the caller is a member of this database role or of the owner of the schema. It
-- is a query, so it has a function of its own: "may_act_for_worker" becomes part of the statements that call
-- it, and rarely needs this.
CREATE OR REPLACE FUNCTION tenure.is_member_for_worker(registered_by text) RETURNS boolean
LANGUAGE sql STABLE
RETURN EXISTS (SELECT FROM pg_catalog.pg_roles AS r
    WHERE r.rolname IN (registered_by, current_user) AND pg_has_role(session_user, r.oid, 'MEMBER'));
