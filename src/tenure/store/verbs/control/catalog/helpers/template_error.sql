-- Return why this is not a template in parts, as the end of a sentence; null if it is one, or null.
CREATE OR REPLACE FUNCTION tenure.template_error(template jsonb) RETURNS text
LANGUAGE sql STABLE
RETURN CASE
    WHEN coalesce(template, 'null') = 'null' THEN NULL
    WHEN jsonb_typeof(template) <> 'object' OR jsonb_typeof(template -> 'text') IS DISTINCT FROM 'string'
            OR jsonb_typeof(template -> 'parts') IS DISTINCT FROM 'array'
            OR template @? '$.parts[*] ? (@.type() != "object" || !exists(@.text ? (@.type() == "string")))'
        THEN 'has a target or a unique key that is not '
            '{"text": ..., "parts": [{"text": ..., "field": ...}, ...]}'
END;
