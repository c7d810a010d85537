-- Return the duration of an option, "1h30m" or a number of seconds, in seconds; null if it is not a
-- duration.
--
-- It accepts exactly what workers accept.
CREATE OR REPLACE FUNCTION tenure.as_seconds(length jsonb) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parts text[];
BEGIN
    IF jsonb_typeof(length) = 'number' THEN
        RETURN length::numeric;
    ELSIF jsonb_typeof(length) <> 'string' OR octet_length(length #>> '{}') > 200 THEN
        RETURN NULL;
    END IF;
    parts := regexp_match(length #>> '{}', '^\s*(?:([0-9]{1,20}(?:\.[0-9]{1,20})?)d\s*)?'
        '(?:([0-9]{1,20}(?:\.[0-9]{1,20})?)h\s*)?(?:([0-9]{1,20}(?:\.[0-9]{1,20})?)m\s*)?'
        '(?:([0-9]{1,20}(?:\.[0-9]{1,20})?)s\s*)?(?:([0-9]{1,20}(?:\.[0-9]{1,20})?)ms\s*)?'
        '(?:([0-9]{1,20}(?:\.[0-9]{1,20})?)us\s*)?$');
    IF array_remove(parts, NULL) = '{}' THEN
        RETURN NULL;
    END IF;
    RETURN coalesce(parts[1]::numeric, 0) * 86400 + coalesce(parts[2]::numeric, 0) * 3600
        + coalesce(parts[3]::numeric, 0) * 60 + coalesce(parts[4]::numeric, 0)
        + coalesce(parts[5]::numeric, 0) / 1000 + coalesce(parts[6]::numeric, 0) / 1000000
        + CASE WHEN parts IS NULL THEN NULL ELSE 0 END;
END $$;
