-- Return a job with the values that its task declares where the caller gave none. An option given as null
-- means none. Secret arguments are those of both.
CREATE OR REPLACE FUNCTION tenure.apply_declaration(job jsonb, task tenure.task) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    given   CONSTANT jsonb := CASE
        WHEN jsonb_typeof(job -> 'options') = 'object' THEN job -> 'options' ELSE '{}' END;
    args    CONSTANT jsonb := CASE
        WHEN jsonb_typeof(job -> 'args') = 'object' THEN job -> 'args' ELSE '{}' END;
    options jsonb := coalesce(task.defaults -> 'options', '{}') || given;
    whole   jsonb := task.defaults || job;
BEGIN
    IF jsonb_typeof(given -> 'secret') = 'array' AND task.defaults #> '{options,secret}' IS NOT NULL THEN
        options := options || jsonb_build_object('secret', (
            SELECT jsonb_agg(DISTINCT s.value)
            FROM jsonb_array_elements((task.defaults #> '{options,secret}') || (given -> 'secret')) AS s));
    END IF;
    IF jsonb_typeof(coalesce(job -> 'options', 'null')) IN ('object', 'null') AND options <> '{}' THEN
        IF given @? '$.* ? (@ == null)' THEN
            options := (SELECT coalesce(jsonb_object_agg(o.key, o.value) FILTER (WHERE o.value <> 'null'),
                '{}')
                FROM jsonb_each(options) AS o);
        END IF;
        whole := whole || jsonb_build_object('options', options);
    END IF;
    IF NOT job ? 'max_attempts' AND given #>> '{retry,max}' ~ '^[0-9]{1,5}$' THEN
        whole := whole || jsonb_build_object('max_attempts', (given #>> '{retry,max}')::integer + 1);
    END IF;
    IF NOT job ? 'target' AND task.target IS NOT NULL THEN
        whole := whole || jsonb_build_object('target', tenure.fill_template(task.target, args, task.schema));
    END IF;
    IF NOT job ? 'unique' AND task."unique" IS NOT NULL THEN
        whole := whole || jsonb_build_object(
            'unique', tenure.fill_template(task."unique", args, task.schema));
    END IF;
    IF NOT job ? 'limits' AND task.limits IS NOT NULL THEN
        whole := whole || jsonb_build_object('limits', (
            SELECT jsonb_agg(tenure.fill_template(l.value, args, task.schema) ORDER BY l.place)
            FROM jsonb_array_elements(task.limits) WITH ORDINALITY AS l(value, place)));
    END IF;
    RETURN whole;
END $$;
