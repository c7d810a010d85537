-- Return a duration in seconds, at most "most"; null stays null.
CREATE OR REPLACE FUNCTION tenure.bounded_seconds(length interval, most interval) RETURNS numeric
LANGUAGE sql IMMUTABLE
RETURN extract(epoch FROM CASE WHEN length > most THEN most ELSE length END);
