-- Begin a dashboard session with a login code, which can be used once. Return whose token it is, as
-- principal() does; null if the code is unknown, used or expired, or its token is not valid. Both arrive as
-- digests (SHA-256).
--
-- The code is deleted first, so of two callers with the same code one finds nothing.
CREATE OR REPLACE FUNCTION tenure.log_in_by_code(code bytea, session bytea) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    bearer bigint;
BEGIN
    DELETE FROM tenure.login_code AS c WHERE c.digest = log_in_by_code.code AND c.expires_at > tenure.now()
    RETURNING c.bearer_id INTO bearer;
    IF bearer IS NULL THEN
        RETURN 'null'::json;
    END IF;
    RETURN tenure.log_in((SELECT k.digest FROM tenure.bearer AS k WHERE k.id = bearer), session);
END $$;
