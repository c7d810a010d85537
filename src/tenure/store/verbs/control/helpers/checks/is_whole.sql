-- Return whether this JSON value is a whole number from "low" to "high", written as one.
CREATE OR REPLACE FUNCTION tenure.is_whole(value jsonb, low numeric, high numeric) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN jsonb_typeof(value) = 'number' AND value::text ~ '^-?[0-9]{1,19}$'
    THEN value::text::numeric BETWEEN low AND high ELSE false END;
