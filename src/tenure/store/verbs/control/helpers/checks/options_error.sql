-- Return why these options of a job are not valid, as the end of a sentence; null if they are.
--
-- A worker reads the options before it starts the job, so they must be what the worker accepts. An unknown
-- option is ignored: a newer version may know it.
CREATE OR REPLACE FUNCTION tenure.options_error(options jsonb) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    shortest CONSTANT numeric := extract(epoch FROM {timeout.min});
    longest  CONSTANT numeric := extract(epoch FROM {grace.max});
    wrong    text;
BEGIN
    IF jsonb_typeof(options) <> 'object' THEN
        RETURN 'has options that are not a JSON object; give {"timeout": "30s", ...}';
    ELSIF pg_column_size(options) > {options.max} THEN
        RETURN format('has options of %s bytes; the maximum is {options.max}', pg_column_size(options));
    ELSIF tenure.json_error(options) IS NOT NULL THEN
        RETURN 'has options ' || tenure.json_error(options);
    END IF;
    SELECT CASE
        WHEN o.key = 'retry' THEN tenure.retry_error(o.value)
        ELSE format('has an option %s of %s; ', to_json(o.key), left(o.value::text, 100)) || CASE
            WHEN o.key IN ('timeout', 'grace', 'ask_for', 'close_timeout')
                THEN CASE o.key WHEN 'timeout' THEN 'it is longer than 0s, and ' ELSE '' END
                    || 'it takes a length of time such as "30s", up to 36500 days'
            WHEN o.key = 'deadline'
                THEN 'it takes a time in the years 1970 to 9999 such as "2030-01-31T12:00:00Z", '
                    'or a number of seconds from now on, up to 36500 days'
            WHEN o.key = 'memory' THEN 'it takes a whole number of bytes, at least {memory.min}'
            WHEN o.key = 'last_rung' THEN 'it can be asked, interrupted, terminated or killed'
            WHEN o.key = 'on_budget' THEN 'it can be fail or pause'
            WHEN o.key = 'secret' THEN 'it takes a list of names of arguments, at most {secret.max}'
            ELSE 'it is true or false' END END
    INTO wrong FROM jsonb_each(options) AS o
    WHERE (jsonb_typeof(o.value) <> 'null' OR o.key = 'secret') AND CASE
        WHEN o.key IN ('timeout', 'grace', 'ask_for', 'close_timeout')
            THEN coalesce(tenure.as_seconds(o.value) NOT BETWEEN
                CASE o.key WHEN 'timeout' THEN shortest ELSE 0 END AND longest, true)
        WHEN o.key = 'deadline' THEN CASE jsonb_typeof(o.value)
            WHEN 'number' THEN o.value::numeric NOT BETWEEN shortest AND longest
            WHEN 'string' THEN NOT tenure.is_timestamp(o.value #>> '{}')
            ELSE true END
        WHEN o.key = 'memory' THEN o.value::text !~ '^[0-9]{1,19}$'
            OR o.value::numeric NOT BETWEEN {memory.min} AND {memory.max}
        WHEN o.key = 'last_rung'
            THEN coalesce(o.value #>> '{}', '') NOT IN ('asked', 'interrupted', 'terminated', 'killed')
        WHEN o.key = 'on_budget' THEN coalesce(o.value #>> '{}', '') NOT IN ('fail', 'pause')
        WHEN o.key IN ('preserve_artifacts', 'cancel_pauses') THEN jsonb_typeof(o.value) <> 'boolean'
        WHEN o.key = 'secret' THEN NOT tenure.are_names(o.value, {secret.max}, {secret.each})
        WHEN o.key = 'retry' THEN tenure.retry_error(o.value) IS NOT NULL
        ELSE false END
    ORDER BY o.key LIMIT 1;
    RETURN wrong;
END $$;
