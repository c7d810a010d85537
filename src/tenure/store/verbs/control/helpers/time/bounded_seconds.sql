-- Return a length of time in seconds, at most so many; null stays null.
CREATE OR REPLACE FUNCTION tenure.bounded_seconds(length interval, most interval) RETURNS numeric
LANGUAGE sql IMMUTABLE
RETURN extract(epoch FROM CASE WHEN length > most THEN most ELSE length END);
