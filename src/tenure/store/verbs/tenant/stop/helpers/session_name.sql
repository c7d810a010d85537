-- What the session of a job's own transaction is called. Everybody can read the names of sessions, so
-- it does not tell the token.
CREATE OR REPLACE FUNCTION tenant.session_name(job bigint, token bigint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT
RETURN 'tenure ' || job || '-' || left(encode(sha256(convert_to('{tenant} ' || token, 'UTF8')), 'hex'), 16);
