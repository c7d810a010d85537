-- Raise an error with this message from within an expression.
CREATE OR REPLACE FUNCTION tenure.abort(sentence text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = sentence;
END $$;
