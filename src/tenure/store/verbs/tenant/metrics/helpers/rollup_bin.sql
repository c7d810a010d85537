-- In which bin a length of time is counted: each is a fifth longer than the one before, the first is a
-- millisecond.
CREATE OR REPLACE FUNCTION tenant.rollup_bin(length interval) RETURNS smallint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN floor(ln(greatest(date_part('epoch', length) * 1000, 1)) / ln(1.2::double precision))::smallint;
