-- Return whether the caller may act for a worker that this database role registered: the role itself, a
-- member of it, or the owner of the schema. The id of a worker is not secret, so it proves nothing.
CREATE OR REPLACE FUNCTION tenure.may_act_for_worker(registered_by text) RETURNS boolean
LANGUAGE sql STABLE
RETURN registered_by IS NULL OR registered_by = session_user OR session_user = current_user
    OR tenure.is_member_for_worker(registered_by);
