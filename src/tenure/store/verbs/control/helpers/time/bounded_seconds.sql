-- Return a duration in seconds, at most "longest"; null stays null.
CREATE OR REPLACE FUNCTION tenure.bounded_seconds(length interval, longest interval) RETURNS numeric
LANGUAGE sql IMMUTABLE
RETURN extract(epoch FROM CASE WHEN length > longest THEN longest ELSE length END);
