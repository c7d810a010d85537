-- Add a value to a series of which at most 50 are kept: every one at first, then every second one, then every
-- fourth, so that they are spread evenly over all. "n" is the number of values before this one.
CREATE OR REPLACE FUNCTION tenure.sampled(kept anyarray, n bigint, value anyelement) RETURNS anyarray
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    step bigint := 1;  -- every so many values one is kept
BEGIN
    WHILE n / step >= 50 LOOP
        step := step * 2;
    END LOOP;
    IF n % step <> 0 THEN
        RETURN kept;
    ELSIF cardinality(kept) >= 50 THEN
        kept := ARRAY(SELECT k.value FROM unnest(kept) WITH ORDINALITY AS k(value, place)
            WHERE k.place % 2 = 1 ORDER BY k.place);
    END IF;
    RETURN kept || value;
END $$;
