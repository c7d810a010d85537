-- Whether this is a JSON list of at most "most" texts, none of them empty or longer than "longest".
--
-- One expression, which becomes part of what calls it: a list that is short as a whole has no long text.
CREATE OR REPLACE FUNCTION tenure.are_names(value jsonb, most integer, longest integer) RETURNS boolean
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN jsonb_typeof(value) <> 'array' THEN false
    ELSE jsonb_array_length(value) <= most AND NOT value @? 'strict $[*] ? (@.type() != "string" || @ == "")'
        AND (pg_column_size(value) <= longest OR tenure.all_within(value, longest)) END;
