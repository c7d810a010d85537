-- Return why these are not the limits of a task, as the end of a sentence; null if they are, or null.
CREATE OR REPLACE FUNCTION tenure.limits_error(limits jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF coalesce(limits, 'null') = 'null' THEN
        RETURN NULL;
    ELSIF jsonb_typeof(limits) <> 'array' OR jsonb_array_length(limits) > {limits.max} THEN
        RETURN 'has limits that are not a list of at most {limits.max} templates';
    END IF;
    RETURN (SELECT min(tenure.template_error(l)) FROM jsonb_array_elements(limits) AS l);
END $$;
