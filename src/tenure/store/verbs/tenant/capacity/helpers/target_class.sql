-- Return the first half of the keys of locks on this tenant's targets; the hash of the target is the
-- second.
CREATE OR REPLACE FUNCTION tenant.target_class() RETURNS integer
LANGUAGE sql STABLE PARALLEL SAFE
RETURN ('tenant.job'::regclass)::oid::bigint::bit(32)::integer;
