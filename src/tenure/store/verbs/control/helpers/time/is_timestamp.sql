-- Return whether this string is a timestamp with a time zone that every reader can show.
CREATE OR REPLACE FUNCTION tenure.is_timestamp(value text) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp SET timezone = 'UTC' AS $$
BEGIN
    RETURN value ~ ('^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?'
            '(Z|[+-][0-9]{2}(:[0-9]{2})?)$')
        AND value::timestamptz BETWEEN {run_at.earliest} AND {run_at.latest};
EXCEPTION WHEN data_exception THEN
    RETURN false;
END $$;
