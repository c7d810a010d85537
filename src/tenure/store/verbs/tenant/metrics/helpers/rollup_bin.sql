-- Return the bin in which a duration is counted: each bin is a fifth longer than the previous one, and the
-- first is a millisecond.
CREATE OR REPLACE FUNCTION tenant.rollup_bin(length interval) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN floor(ln(greatest(date_part('epoch', length) * 1000, 1)) / ln(1.2::double precision))::smallint;
