-- Whether a text can be read as a value of this type.
CREATE OR REPLACE FUNCTION tenant.filter_reads(value text, kind text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    CASE kind
        WHEN 'bigint' THEN PERFORM value::bigint;
        WHEN 'uuid' THEN PERFORM value::uuid;
        WHEN 'timestamptz' THEN PERFORM value::timestamptz;
        WHEN 'interval' THEN PERFORM value::interval;
    END CASE;
    RETURN value IS NOT NULL;
EXCEPTION WHEN data_exception THEN
    RETURN false;
END $$;
