-- A unique or idempotency key as it is stored: with the name of the owner whose key it is, or of the whole
-- tenant ("tenant:...") when no owner is given. So the same key of two owners is two keys, and a look for a
-- key cannot forget whose it is. Keys of Tenure's own ("tenure:...") are not made here: see enqueue_reserved.
--
-- The name has its length before it, or another name and key could read alike. Jobs of schedules have the
-- keys of the application, which is the owner of the schema. A name that is too long for an index entry
-- together with a key is stored as its digest.
CREATE OR REPLACE FUNCTION tenure.scoped_key(owner text, key text) RETURNS text
LANGUAGE sql STABLE
RETURN CASE
    WHEN owner IS NULL THEN 'tenant:'
    WHEN starts_with(owner, 'schedule:') THEN length('db:' || current_user) || ':db:' || current_user || ':'
    WHEN octet_length(owner) <= 500 THEN length(owner) || ':' || owner || ':'
    ELSE 'sha256:' || encode(sha256(convert_to(owner, 'UTF8')), 'hex') || ':'
END || key;
