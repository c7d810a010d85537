-- Return whether this is not a wait that a job can begin.
CREATE OR REPLACE FUNCTION tenant.is_bad_wait(wait jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    within   CONSTANT jsonb := coalesce(nullif(wait -> 'within', 'null'), '0');
    question CONSTANT jsonb := nullif(wait -> 'question', 'null');
BEGIN
    RETURN jsonb_typeof(wait) <> 'object'
        OR coalesce(length(wait ->> 'name') NOT BETWEEN 1 AND {step.max}, true)
        OR coalesce(length(wait ->> 'digest') NOT BETWEEN 1 AND 100, true)
        OR CASE WHEN jsonb_typeof(within) = 'number'
            THEN within::numeric NOT BETWEEN 0 AND extract(epoch FROM {grace.max}) ELSE true END
        OR tenure.json_error(wait) IS NOT NULL
        OR coalesce(CASE wait ->> 'kind'
            WHEN 'sleep' THEN coalesce(wait ->> 'event', wait ->> 'key', question::text) IS NOT NULL
            WHEN 'event' THEN length(wait ->> 'event') NOT BETWEEN 1 AND {event_name.max}
                OR length(wait ->> 'key') > {event_key.max} OR question IS NOT NULL
            WHEN 'question' THEN jsonb_typeof(question -> 'text') <> 'string'
                OR jsonb_typeof(question -> 'schema') <> 'object'
                OR NOT coalesce(question ->> 'role' IN ('viewer', 'operator', 'admin'), true)
                OR coalesce(wait ->> 'event', wait ->> 'key') IS NOT NULL END, true);
END $$;
