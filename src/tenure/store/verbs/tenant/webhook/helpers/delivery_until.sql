-- Return until when a delivery that is written now is tried.
CREATE OR REPLACE FUNCTION tenant.delivery_until(now_ts timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE
RETURN now_ts + interval '3 days';
