-- Return the size of a batch; refuse one that is out of range.
CREATE OR REPLACE FUNCTION tenure.batch_size(n integer) RETURNS integer
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF n IS NULL OR n < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
            'a batch of %s is not possible; 1 and more are', coalesce(n::text, 'null'));
    END IF;
    RETURN n;
END $$;
