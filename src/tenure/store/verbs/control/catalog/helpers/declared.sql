-- A job with what its task declares, where the caller did not say something else. An option that is null was
-- said to be none. Secret arguments are those of both.
CREATE OR REPLACE FUNCTION tenure.declared(job jsonb, task tenure.task) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    said    CONSTANT jsonb := CASE
        WHEN jsonb_typeof(job -> 'options') = 'object' THEN job -> 'options' ELSE '{}' END;
    args    CONSTANT jsonb := CASE
        WHEN jsonb_typeof(job -> 'args') = 'object' THEN job -> 'args' ELSE '{}' END;
    options jsonb := coalesce(task.defaults -> 'options', '{}') || said;
    whole   jsonb := task.defaults || job;
BEGIN
    IF jsonb_typeof(said -> 'secret') = 'array' AND task.defaults #> '{options,secret}' IS NOT NULL THEN
        options := options || jsonb_build_object('secret', (
            SELECT jsonb_agg(DISTINCT s.value)
            FROM jsonb_array_elements((task.defaults #> '{options,secret}') || (said -> 'secret')) AS s));
    END IF;
    IF jsonb_typeof(coalesce(job -> 'options', 'null')) IN ('object', 'null') AND options <> '{}' THEN
        IF said @? '$.* ? (@ == null)' THEN
            options := (SELECT coalesce(jsonb_object_agg(o.key, o.value) FILTER (WHERE o.value <> 'null'),
                '{}')
                FROM jsonb_each(options) AS o);
        END IF;
        whole := whole || jsonb_build_object('options', options);
    END IF;
    IF NOT job ? 'max_attempts' AND said #>> '{retry,max}' ~ '^[0-9]{1,5}$' THEN
        whole := whole || jsonb_build_object('max_attempts', (said #>> '{retry,max}')::integer + 1);
    END IF;
    IF NOT job ? 'target' AND task.target IS NOT NULL THEN
        whole := whole || jsonb_build_object('target', tenure.filled(task.target, args, task.schema));
    END IF;
    IF NOT job ? 'unique' AND task."unique" IS NOT NULL THEN
        whole := whole || jsonb_build_object('unique', tenure.filled(task."unique", args, task.schema));
    END IF;
    RETURN whole;
END $$;
