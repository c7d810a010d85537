-- Store a code that logs in to the dashboard once, within an hour, with this token. Return whose token it
-- is, as principal() does; null if the token is not valid. Both arrive as digests (SHA-256).
CREATE OR REPLACE FUNCTION tenure.create_login_code(token bytea, code bytea) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    IF octet_length(code) IS DISTINCT FROM 32 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'the digest of a code is the 32 bytes of a SHA-256';
    END IF;
    DELETE FROM tenure.login_code AS c WHERE c.expires_at <= now_ts;
    INSERT INTO tenure.login_code (digest, bearer_id, expires_at)
    SELECT create_login_code.code, k.id, now_ts + interval '1 hour' FROM tenure.bearer AS k
    WHERE k.digest = create_login_code.token AND k.revoked_at IS NULL
      AND (k.expires_at IS NULL OR k.expires_at > now_ts);
    RETURN tenure.principal(token);
EXCEPTION WHEN unique_violation THEN
    RAISE EXCEPTION USING ERRCODE = 'TN004',
        MESSAGE = 'there is a code with this digest already; draw a new one';
END $$;
