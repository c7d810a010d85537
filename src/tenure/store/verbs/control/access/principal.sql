-- Return whose token this is, by its digest: name, role and tenant; null if it is unknown, expired or
-- revoked.
CREATE OR REPLACE FUNCTION tenure.principal(digest bytea) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce((
        SELECT json_build_object('name', k.name, 'role', k.role, 'tenant', k.tenant) FROM tenure.bearer AS k
        WHERE k.digest = principal.digest AND k.revoked_at IS NULL
          AND (k.expires_at IS NULL OR k.expires_at > tenure.now())), 'null');
$$;
