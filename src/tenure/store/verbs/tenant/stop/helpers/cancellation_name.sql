-- Return the name of the record of a stop: cancel-00002a, or pause-00002b.
CREATE OR REPLACE FUNCTION tenant.cancellation_name(id bigint, intent text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN intent || '-' || lpad(to_hex(id), greatest(6, length(to_hex(id))), '0');
