-- Return why this is not a valid "retry" option, as the end of a sentence; null if it is.
CREATE OR REPLACE FUNCTION tenure.retry_error(retry jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    longest CONSTANT numeric := extract(epoch FROM {retry_base.max});
    wrong   text;
BEGIN
    IF jsonb_typeof(retry) <> 'object' THEN
        RETURN 'has an option "retry" that is not a JSON object such as {"max": 3, "base": "1s"}';
    END IF;
    SELECT format('has a retry with %s of %s; ', to_json(r.key), left(r.value::text, 100)) || CASE r.key
        WHEN 'max' THEN 'it takes a whole number from {retry_max.min} to {retry_max.max}'
        WHEN 'factor' THEN 'it takes a number from {retry_factor.min} to {retry_factor.max}'
        WHEN 'jitter' THEN 'it takes a number from {retry_jitter.min} to {retry_jitter.max}'
        WHEN 'never' THEN 'it takes a list of at most {retry_never.max} names of error types'
        WHEN 'retry_after' THEN 'it is true or false'
        WHEN 'function' THEN 'it takes a sentence about the function; only a task can declare one'
        ELSE 'it takes a length of time such as "30s", up to 36500 days' END
    INTO wrong FROM jsonb_each(retry) AS r
    WHERE CASE r.key
        WHEN 'max' THEN r.value::text !~ '^[0-9]{1,5}$' OR r.value::numeric > {retry_max.max}
        WHEN 'factor' THEN jsonb_typeof(r.value) <> 'number'
            OR r.value::numeric NOT BETWEEN {retry_factor.min} AND {retry_factor.max}
        WHEN 'jitter' THEN jsonb_typeof(r.value) <> 'number'
            OR r.value::numeric NOT BETWEEN {retry_jitter.min} AND {retry_jitter.max}
        WHEN 'never'
            THEN NOT tenure.are_names(r.value, {retry_never.max}, {retry_never.each})
        WHEN 'retry_after' THEN jsonb_typeof(r.value) <> 'boolean'
        WHEN 'function' THEN jsonb_typeof(r.value) <> 'string' OR length(r.value #>> '{}') > 500
        WHEN 'base' THEN coalesce(tenure.as_seconds(r.value) NOT BETWEEN 0 AND longest, true)
        WHEN 'cap' THEN coalesce(tenure.as_seconds(r.value) NOT BETWEEN 0 AND longest, true)
        ELSE false END
    ORDER BY r.key LIMIT 1;
    IF wrong IS NOT NULL THEN
        RETURN wrong;
    ELSIF retry - ARRAY['max', 'base', 'factor', 'cap', 'jitter', 'never', 'retry_after', 'function']
            <> '{}' THEN
        RETURN 'has an option "retry" with an unknown name; '
            'it knows max, base, factor, cap, jitter, never, retry_after and function';
    ELSIF coalesce(tenure.as_seconds(retry -> 'base'), 1)
            > coalesce(tenure.as_seconds(retry -> 'cap'), 600) THEN
        RETURN 'has a retry whose base is above its cap';
    END IF;
    RETURN NULL;
END $$;
