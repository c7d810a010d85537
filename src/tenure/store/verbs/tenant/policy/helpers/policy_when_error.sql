-- Return why these are not valid conditions of a policy, as a sentence; null if they are.
CREATE OR REPLACE FUNCTION tenant.policy_when_error("when" jsonb, filter jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known CONSTANT text[] := ARRAY['at', 'age', 'running', 'waiting', 'budget', 'parent_failed', 'superseded',
        'error_rate'];
    rate  CONSTANT jsonb := "when" -> 'error_rate';
BEGIN
    IF jsonb_typeof("when") <> 'object' OR "when" = '{}' THEN
        RETURN format(
            '"when" of a policy is a JSON object with one or more conditions: %s',
            array_to_string(known, ', '));
    END IF;
    RETURN (SELECT CASE
        WHEN c.key <> ALL (known)
            THEN format('a policy has no condition %L; it has %s', c.key, array_to_string(known, ', '))
        WHEN c.key = 'at' THEN CASE WHEN jsonb_typeof(c.value) <> 'string'
        OR NOT tenure.is_timestamp(c.value #>> '{}')
            THEN format('"at" takes a timestamp such as "2030-01-31T12:00:00Z", and %s is none', c.value) END
        WHEN c.key IN ('age', 'running', 'waiting') THEN tenant.policy_duration_error(c.key, c.value)
        WHEN c.key IN ('parent_failed', 'superseded') THEN CASE WHEN c.value <> 'true'
            THEN format('%s is true or left out; %s is neither', c.key, c.value) END
        WHEN c.key = 'budget' THEN CASE
            WHEN jsonb_typeof(c.value) <> 'object' OR c.value = '{}'
                THEN format('"budget" takes {"unit": share} or {"unit": {"above": amount}}, not %s', c.value)
            ELSE (SELECT format(
                '"budget" takes a share of the budget of %s above 0 and up to 1, '
                'or {"above": amount}, not %s', b.key, b.value)
                FROM jsonb_each(c.value) AS b
                WHERE NOT coalesce(CASE jsonb_typeof(b.value)
                    WHEN 'number' THEN b.value::numeric > 0 AND b.value::numeric <= 1
                    WHEN 'object' THEN b.value - 'above' = '{}'
                    AND jsonb_typeof(b.value -> 'above') = 'number' AND (b.value -> 'above')::numeric >= 0
                    ELSE false END, false) ORDER BY b.key LIMIT 1) END
        WHEN c.key = 'error_rate' THEN CASE
            WHEN jsonb_typeof(rate) <> 'object' OR rate - ARRAY['above', 'of', 'within', 'by'] <> '{}'
            OR NOT rate ? 'above'
                THEN format(
                    '"error_rate" takes {"above": 0.5, "of": 20, "within": "1h", "by": "queue"}, not %s',
                    rate)
            WHEN NOT coalesce(CASE WHEN jsonb_typeof(rate -> 'above') = 'number'
                THEN (rate -> 'above')::numeric >= 0 AND (rate -> 'above')::numeric < 1 END, false)
                THEN format('"above" of an error rate is a share from 0 to less than 1, and %s is none',
                    rate -> 'above')
            WHEN rate ? 'of' AND NOT coalesce(CASE WHEN jsonb_typeof(rate -> 'of') = 'number'
                    THEN (rate -> 'of')::numeric BETWEEN 1 AND 1000
                        AND mod((rate -> 'of')::numeric, 1) = 0 END, false)
                THEN format('"of" of an error rate is a number of jobs from 1 to 1000, and %s is none',
                    rate -> 'of')
            WHEN rate ? 'by' AND coalesce(rate ->> 'by', '') NOT IN ('queue', 'task', 'tag')
                THEN format('an error rate is counted by queue, task or tag; %s is none of these',
                    rate -> 'by')
            WHEN rate ->> 'by' = 'tag' AND NOT filter ? 'tag'
                THEN 'an error rate by tag needs a tag in the filter'
            WHEN rate ->> 'by' = 'tag' AND jsonb_typeof(filter -> 'tag') = 'array'
                THEN 'an error rate by tag needs a filter with a single tag'
            WHEN rate ? 'within' THEN tenant.policy_duration_error('within', rate -> 'within') END
        END AS wrong
    FROM jsonb_each("when") AS c ORDER BY wrong LIMIT 1);
END $$;
