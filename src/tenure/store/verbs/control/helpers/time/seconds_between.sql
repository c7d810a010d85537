-- Return the seconds between two timestamps, at most a hundred years whatever a row holds.
CREATE OR REPLACE FUNCTION tenure.seconds_between(since timestamptz, until timestamptz) RETURNS float8
LANGUAGE sql IMMUTABLE
RETURN CASE
    WHEN since IS NULL OR until IS NULL THEN NULL
    WHEN isfinite(since) AND isfinite(until) AND since > until - {delay.max} AND since < until + {delay.max}
        THEN extract(epoch FROM until - since)
    WHEN since < until THEN extract(epoch FROM {delay.max})
    ELSE -extract(epoch FROM {delay.max}) END;
