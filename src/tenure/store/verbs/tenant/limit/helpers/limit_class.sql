-- Return the first half of the keys of locks on this tenant's limits; the hash of the name is the second.
CREATE OR REPLACE FUNCTION tenant.limit_class() RETURNS integer
LANGUAGE sql STABLE PARALLEL SAFE
RETURN ('tenant.limit_state'::regclass)::oid::bigint::bit(32)::integer;
