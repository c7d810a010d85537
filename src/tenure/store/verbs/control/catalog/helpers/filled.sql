-- A template with arguments in it; what is left out has the default of the function. The same text as in
-- Python, and the same sentence where an argument is neither a text nor a number.
CREATE OR REPLACE FUNCTION tenure.filled(template jsonb, args jsonb, schema jsonb) RETURNS text
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
