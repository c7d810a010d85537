-- What people call a record: cancel-00002a.
CREATE OR REPLACE FUNCTION tenant.cancellation_name(id bigint) RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN 'cancel-' || lpad(to_hex(id), greatest(6, length(to_hex(id))), '0');
