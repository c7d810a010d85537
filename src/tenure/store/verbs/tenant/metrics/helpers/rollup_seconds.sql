-- Return the duration that a bin stands for: its middle, so that no duration in it is more than a tenth
-- off.
CREATE OR REPLACE FUNCTION tenant.rollup_seconds(bin smallint) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN round((power(1.2::double precision, bin + 0.5) / 1000)::numeric, 6)::double precision;
