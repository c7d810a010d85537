-- Return the id of a record by its name.
CREATE OR REPLACE FUNCTION tenant.cancellation_id(name text) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF name ~ '^(cancel|pause)-[0-9a-f]{6,15}$' THEN
        RETURN ('x' || lpad(split_part(name, '-', 2), 16, '0'))::bit(64)::bigint;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'TN006',
        MESSAGE = format('there is no cancellation %s', coalesce(quote_literal(name), 'without a name'));
END $$;
