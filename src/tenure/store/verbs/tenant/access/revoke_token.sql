-- Revoke a token: it is not accepted from now on. Revoking it again changes nothing.
CREATE OR REPLACE FUNCTION tenant.revoke_token(
    id bigint, reason text DEFAULT NULL, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    refusal CONSTANT json := tenant.forbidden('revoke_token', 'admin', 'token', id::text, by, via, role);
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    UPDATE tenure.bearer AS k SET revoked_at = tenure.now(), revoked_by = actor
    WHERE k.id = revoke_token.id
      AND k.tenant IN ('{tenant}', CASE WHEN '{tenant}' = 'default' THEN k.tenant END)
      AND k.revoked_at IS NULL;
    IF FOUND THEN
        PERFORM tenant.write_audit(actor, via, 'revoke', 'token', revoke_token.id::text, revoke_token.reason,
            '{"revoked": false}', '{"revoked": true}');
    ELSIF NOT EXISTS (SELECT FROM tenure.bearer AS k
            WHERE k.id = revoke_token.id
              AND k.tenant IN ('{tenant}', CASE WHEN '{tenant}' = 'default' THEN k.tenant END)) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006',
            MESSAGE = format('there is no token %s', coalesce(revoke_token.id::text, 'without an id'));
    END IF;
    RETURN (SELECT to_jsonb(k) - 'digest' FROM tenure.bearer AS k WHERE k.id = revoke_token.id);
END $$;
