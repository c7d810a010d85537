-- Return a template with arguments filled in; a missing argument has the default of the function. The text
-- is the same as in Python, and so is the error for an argument that is neither a string nor a number.
CREATE OR REPLACE FUNCTION tenure.fill_template(template jsonb, args jsonb, schema jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    whole text := '';
    part  jsonb;
    value jsonb;
BEGIN
    FOR part IN SELECT p.value
        FROM jsonb_array_elements(template -> 'parts') WITH ORDINALITY AS p(value, place)
            ORDER BY p.place LOOP
        whole := whole || (part ->> 'text');
        CONTINUE WHEN part ->> 'field' IS NULL;
        value := coalesce(args -> (part ->> 'field'),
            schema #> ARRAY['properties', part ->> 'field', 'default'], 'null');
        IF jsonb_typeof(value) IN ('null', 'array', 'object') THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001',
                MESSAGE = format('%s, and that is %s', part ->> 'refusal',
                CASE jsonb_typeof(value) WHEN 'null' THEN 'nothing'
                    WHEN 'array' THEN 'a list' ELSE 'an object' END);
        END IF;
        whole := whole || (value #>> '{}');
    END LOOP;
    RETURN whole;
END $$;
