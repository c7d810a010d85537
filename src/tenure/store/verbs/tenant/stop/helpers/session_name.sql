-- Return the name of the database session of a job's own transaction. Session names are visible to all, so
-- it does not contain the token.
CREATE OR REPLACE FUNCTION tenant.session_name(job bigint, token bigint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT
RETURN 'tenure ' || job || '-' || left(encode(sha256(convert_to('{tenant} ' || token, 'UTF8')), 'hex'), 16);
