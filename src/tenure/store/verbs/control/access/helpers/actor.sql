-- Return the actor to record for an action: the given name if the caller may give one (the owner of the
-- schema or a member of tenure_delegate), otherwise the database user. Settings can be forged, and
-- current_user is the owner in here, so only session_user counts.
CREATE OR REPLACE FUNCTION tenure.actor(named text) RETURNS text
LANGUAGE sql STABLE
RETURN CASE
    WHEN length(named) > {actor.max}
        THEN tenure.abort('the name of an actor has at most {actor.max} characters')
    WHEN named <> '' AND (session_user = current_user OR EXISTS (
        SELECT FROM pg_catalog.pg_roles AS r
        WHERE r.rolname IN (current_user, 'tenure_delegate')
          AND pg_has_role(session_user, r.oid, 'MEMBER')))
    THEN named
    ELSE 'db:' || session_user
END;
