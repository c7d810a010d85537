-- Return a unique or idempotency key as it is stored: with the name of the owner whose key it is, or of the
-- whole tenant ("tenant:...") if no owner is given. The same key of two owners is two keys, and no lookup
-- can omit the owner. Tenure's own keys ("tenure:...") are not made here: see enqueue_reserved.
--
-- The name is preceded by its length; otherwise another name and key could read the same. Jobs of schedules
-- use the keys of the application, which is the owner of the schema. A name that is too long for an index
-- entry together with a key is stored as its digest.
CREATE OR REPLACE FUNCTION tenure.scoped_key(owner text, key text) RETURNS text
LANGUAGE sql STABLE
RETURN CASE
    WHEN owner IS NULL THEN 'tenant:'
    WHEN starts_with(owner, 'schedule:') THEN length('db:' || current_user) || ':db:' || current_user || ':'
    WHEN octet_length(owner) <= 500 THEN length(owner) || ':' || owner || ':'
    ELSE 'sha256:' || encode(sha256(convert_to(owner, 'UTF8')), 'hex') || ':'
END || key;
