-- Begin a dashboard session with a token. Return whose token it is, as principal() does; null if the token
-- is not valid. Both arrive as digests (SHA-256).
--
-- A session lasts at most 30 days, and not longer than its token. A token has at most 100 sessions; a
-- further one ends the oldest.
CREATE OR REPLACE FUNCTION tenure.log_in(token bytea, session bytea) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    known  CONSTANT bigint := (
        SELECT k.id FROM tenure.bearer AS k
        WHERE k.digest = log_in.token AND k.revoked_at IS NULL
          AND (k.expires_at IS NULL OR k.expires_at > now_ts));
BEGIN
    IF octet_length(session) IS DISTINCT FROM 32 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'the digest of a session is the 32 bytes of a SHA-256';
    ELSIF known IS NULL THEN
        RETURN 'null'::json;
    END IF;
    DELETE FROM tenure.session AS s
    WHERE s.bearer_id = known AND (s.expires_at <= now_ts OR s.digest IN (
        SELECT o.digest FROM tenure.session AS o WHERE o.bearer_id = known
        ORDER BY o.created_at DESC OFFSET 99));
    INSERT INTO tenure.session (digest, bearer_id, created_at, expires_at)
    VALUES (log_in.session, known, now_ts, now_ts + interval '30 days');
    RETURN tenure.principal(token);
EXCEPTION WHEN unique_violation THEN
    RAISE EXCEPTION USING ERRCODE = 'TN004',
        MESSAGE = 'there is a session with this digest already; draw a new one';
END $$;
