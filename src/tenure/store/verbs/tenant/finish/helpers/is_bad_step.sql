-- Return whether this is not a step that has ended, as a runner reports it.
CREATE OR REPLACE FUNCTION tenant.is_bad_step(step jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN jsonb_typeof(step) <> 'object'
        OR coalesce(length(step ->> 'name') NOT BETWEEN 1 AND {step.max}, true)
        OR coalesce(length(step ->> 'digest') NOT BETWEEN 1 AND 100, true)
        OR pg_column_size(step -> 'value') > {value.max}
        OR tenure.json_error(step -> 'value') IS NOT NULL
        OR length(step ->> 'artifact') > {artifact_url.max}
        OR tenure.is_bad_budget(nullif(step -> 'spent', 'null'))
        OR CASE WHEN jsonb_typeof(step -> 'attempts') = 'number' AND jsonb_typeof(step -> 'took') = 'number'
            THEN (step -> 'attempts')::numeric NOT BETWEEN 0 AND 1000000
                OR (step -> 'took')::numeric NOT BETWEEN 0 AND extract(epoch FROM {grace.max})
            ELSE true END;
END $$;
