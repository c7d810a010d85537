-- Return whose session this is, by its digest: name, role and tenant; null if it has ended, or its token
-- has expired or was revoked.
CREATE OR REPLACE FUNCTION tenure.session_principal(session bytea) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce((
        SELECT tenure.principal(k.digest)
        FROM tenure.session AS s JOIN tenure.bearer AS k ON k.id = s.bearer_id
        WHERE s.digest = session_principal.session AND s.expires_at > tenure.now()), 'null');
$$;
