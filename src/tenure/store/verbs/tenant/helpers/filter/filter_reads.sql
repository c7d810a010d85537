-- Return whether a string can be read as a value of this type.
--
-- A filter is stored with a policy or a bulk operation and read again in other sessions, so a timestamp has
-- a form that means the same under all settings; also as a day, "2030-01-31Z".
CREATE OR REPLACE FUNCTION tenant.filter_reads(value text, kind text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    CASE kind
        WHEN 'bigint' THEN PERFORM value::bigint;
        WHEN 'uuid' THEN PERFORM value::uuid;
        WHEN 'moment' THEN
            RETURN tenure.is_timestamp(regexp_replace(value, '^([0-9]{4}-[0-9]{2}-[0-9]{2})Z$', '\1T00:00Z'));
    END CASE;
    RETURN value IS NOT NULL;
EXCEPTION WHEN data_exception THEN
    RETURN false;
END $$;
