-- Why nobody could read this JSON back, as the end of a sentence; null when everybody can.
--
-- What is as short as most arguments are cannot be nested too deeply, and a number beyond a double is
-- written with more than 300 digits: only longer values are looked into.
CREATE OR REPLACE FUNCTION tenure.bad_json(value jsonb) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE
    WHEN octet_length(value::text) <= 2 * {json.levels} THEN NULL
    WHEN value @? '$.**{{json.deeper}}' THEN 'nested more than {json.levels} levels deep'
    WHEN value @? '$.** ? (@ > {json.most} || @ < -{json.most})'
        THEN 'with a number beyond {json.most}, which no reader can take'
END;
