-- Return whether this is a JSON list of at most "most" strings, none empty or longer than "longest".
--
-- A single expression, so that it is inlined: a list that is short as a whole has no long string.
CREATE OR REPLACE FUNCTION tenure.are_names(value jsonb, most integer, longest integer) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN jsonb_typeof(value) <> 'array' THEN false
    ELSE jsonb_array_length(value) <= most AND NOT value @? 'strict $[*] ? (@.type() != "string" || @ == "")'
        AND (pg_column_size(value) <= longest OR tenure.all_within(value, longest)) END;
