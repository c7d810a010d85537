-- Return the actor to record for an action: the given name if the caller may give one (the owner of the
-- schema or a member of tenure_delegate), otherwise the database user. Settings can be forged, and
-- current_user is the owner in here, so only session_user counts. The query is in a function of its own, so
-- that this one becomes a part of the expressions that call it.
CREATE OR REPLACE FUNCTION tenure.actor(named text) RETURNS text
LANGUAGE sql STABLE
RETURN CASE
    WHEN length(named) > {actor.max}
        THEN tenure.abort('the name of an actor has at most {actor.max} characters')
    WHEN named <> '' AND CASE WHEN session_user = current_user THEN true
        ELSE tenure.access_is_delegated() END THEN named
    ELSE 'db:' || session_user
END;
