-- Return why one of these fields of a job, as "draft_type_error" found them, has a value of the wrong type,
-- as the end of a sentence; null if none has.
CREATE OR REPLACE FUNCTION tenure.draft_field_error(fields jsonb) RETURNS text
LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name    text;
    value   jsonb;
    problem text;
BEGIN
    FOR name, value IN SELECT f ->> 'key', f -> 'value' FROM jsonb_array_elements(fields) AS f LOOP
        problem := CASE name
            WHEN 'key_scope' THEN 'has a key_scope that is not a text; it can be owner or tenant'
            WHEN 'when_taken' THEN 'has a when_taken that is not a text; it can be return, replace or refuse'
            WHEN 'orphan' THEN 'has an orphan that is not a text; it can be retry or fail'
            WHEN 'run_at' THEN CASE WHEN jsonb_typeof(value) <> 'string'
                THEN 'has a run_at that is not a text such as "2030-01-31T12:00:00Z"' END
            WHEN 'delay' THEN CASE WHEN jsonb_typeof(value) NOT IN ('string', 'number')
                THEN 'has a delay that is neither a number of seconds nor a text such as "20s"' END
            WHEN 'priority' THEN CASE WHEN NOT tenure.is_whole(value, {priority.min}, {priority.max})
                THEN format('has a priority of %s; it takes a whole number from {priority.min} to '
                    '{priority.max}', left(value #>> '{}', 100)) END
            WHEN 'max_attempts' THEN CASE
                WHEN NOT tenure.is_whole(value, {max_attempts.min}, {max_attempts.max})
                THEN format('has max_attempts of %s; it takes a whole number from %s to %s',
                    left(value #>> '{}', 100), {max_attempts.min}, {max_attempts.max}) END
            WHEN 'tags' THEN CASE WHEN NOT tenure.are_names(value, {tags.max}, {tags.each})
                THEN 'has tags that are not a list of at most {tags.max} texts of 1 to {tags.each} characters'
                END
            WHEN 'pools' THEN CASE WHEN NOT tenure.are_names(value, {pools.max}, {pools.each})
                THEN 'has pools that are not a list of at most {pools.max} names of 1 to {pools.each} '
                    'characters' END
            WHEN 'limits' THEN CASE WHEN NOT tenure.are_names(value, {limits.max}, {limits.each})
                THEN 'has limits that are not a list of at most {limits.max} names of 1 to {limits.each} '
                    'characters' END
            WHEN 'block_on' THEN CASE WHEN NOT tenure.are_names(value, 2, 10)
                THEN 'has a block_on that is not a list of "paused" and "failed"' END
            ELSE 'has a task, queue, target, owner or key that is not a text' END;
        IF problem IS NOT NULL THEN
            RETURN problem;
        ELSIF name IN ('run_at', 'delay') THEN
            BEGIN
                problem := CASE name WHEN 'run_at' THEN (value #>> '{}')::timestamptz::text
                    ELSE (value #>> '{}')::interval::text END;
            EXCEPTION WHEN data_exception THEN
                RETURN format('has a %s that cannot be read (%s); give %s', name, left(SQLERRM, 200),
                    CASE name WHEN 'run_at' THEN 'a time such as "2030-01-31T12:00:00Z"'
                        ELSE 'a length of time such as "20s"' END);
            END;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
