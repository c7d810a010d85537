-- Return the upper bounds of the buckets in seconds; longer durations are in one more bucket.
CREATE OR REPLACE FUNCTION tenant.tally_bounds() RETURNS double precision[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}'::double precision[];
