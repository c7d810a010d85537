-- Return the current time. The database's clock decides about leases; tests replace this function.
CREATE OR REPLACE FUNCTION tenure.now() RETURNS timestamptz
LANGUAGE sql VOLATILE PARALLEL SAFE
RETURN clock_timestamp();
