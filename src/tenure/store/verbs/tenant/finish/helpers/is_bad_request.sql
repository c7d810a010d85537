-- Return whether this is not a request for a grant or a reservation ("asks"), or not the end of one
-- ("settled"). Amounts below zero would raise a limit or a budget for everybody.
CREATE OR REPLACE FUNCTION tenant.is_bad_request(request jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    number CONSTANT jsonb := request -> 'number';
    amount jsonb;
BEGIN
    IF jsonb_typeof(number) IS DISTINCT FROM 'number' OR number::numeric <> trunc(number::numeric)
        OR number::numeric NOT BETWEEN 1 AND 9007199254740991
    THEN
        RETURN true;
    END IF;
    FOREACH amount IN ARRAY ARRAY[request -> 'amounts', request -> 'reserve', request -> 'used'] LOOP
        IF tenure.is_bad_budget(amount) THEN
            RETURN true;
        END IF;
    END LOOP;
    RETURN CASE
        WHEN request ? 'used' OR request ? 'retry_after' THEN request ? 'retry_after' AND (
            jsonb_typeof(request -> 'retry_after') <> 'number'
            OR (request -> 'retry_after')::numeric NOT BETWEEN 0 AND 86400)
        WHEN request ? 'limit' THEN jsonb_typeof(request -> 'limit') <> 'string'
            OR length(request ->> 'limit') NOT BETWEEN 1 AND {limit.max}
            OR coalesce((request #> ARRAY['amounts', 'calls'])::numeric < 1, false)
        ELSE NOT request ? 'reserve' END;
END $$;
