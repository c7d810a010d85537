-- Return why this is not a valid policy, as a sentence; null if it is.
CREATE OR REPLACE FUNCTION tenant.policy_error(spec jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known   CONSTANT text[] := ARRAY['filter', 'when', 'intent', 'strategy', 'reason'];
    unknown text;
BEGIN
    IF jsonb_typeof(spec) IS DISTINCT FROM 'object' THEN
        RETURN 'a policy is a JSON object such as {"filter": {"queue": "slow"}, "when": {"age": "1h"}, '
            '"intent": "cancel"}';
    END IF;
    SELECT k INTO unknown FROM jsonb_object_keys(spec) AS k WHERE k <> ALL (known) ORDER BY k LIMIT 1;
    RETURN CASE
        WHEN pg_column_size(spec) > {policy_spec.max} THEN 'a policy takes at most {policy_spec.max} bytes'
        WHEN tenure.json_error(spec) IS NOT NULL THEN 'a policy cannot be ' || tenure.json_error(spec)
        WHEN length(spec ->> 'reason') > {reason.max}
            THEN 'the reason of a policy has at most {reason.max} characters'
        WHEN unknown IS NOT NULL
            THEN format('a policy has no %L; it has %s', unknown, array_to_string(known, ', '))
        WHEN coalesce(spec ->> 'intent', 'cancel') NOT IN ('cancel', 'pause')
            THEN format('a policy cancels or pauses; %s is neither', spec -> 'intent')
        WHEN jsonb_typeof(spec -> 'strategy') NOT IN ('string', 'null') OR spec -> 'strategy' = '""'
            THEN format('the strategy of a policy is named by a text, and %s is none', spec -> 'strategy')
        WHEN jsonb_typeof(spec -> 'reason') NOT IN ('string', 'null') OR spec -> 'reason' = '""'
            THEN format('the reason of a policy is a text that is not empty, and %s is none',
                spec -> 'reason')
        WHEN jsonb_typeof(spec #> '{filter,id}') = 'array'
            THEN 'a policy names one job by its id; use another filter for several jobs'
        ELSE coalesce(tenant.filter_error(coalesce(spec -> 'filter', '{}')),
            tenant.policy_when_error(coalesce(spec -> 'when', '{}'), coalesce(spec -> 'filter', '{}')))
                END;
END $$;
