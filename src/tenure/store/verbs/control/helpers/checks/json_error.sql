-- Return why this JSON value could not be read back, as the end of a sentence; null if it could.
--
-- A value as short as most arguments cannot be nested too deeply, and a number beyond a double has more
-- than 300 digits: only longer values are checked.
CREATE OR REPLACE FUNCTION tenure.json_error(value jsonb) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE
    WHEN octet_length(value::text) <= 2 * {json.levels} THEN NULL
    WHEN value @? '$.**{{json.deeper}}' THEN 'nested more than {json.levels} levels deep'
    WHEN value @? '$.** ? (@ > {json.max} || @ < -{json.max})'
        THEN 'with a number beyond {json.max}, which no reader can take'
END;
