-- Return why a policy stops jobs, in words: its own reason if it has one, else its conditions.
CREATE OR REPLACE FUNCTION tenant.policy_reason(spec jsonb) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN coalesce(spec ->> 'reason', (SELECT string_agg(CASE c.key
    WHEN 'at' THEN format('its time of %s has come', c.value #>> '{}')
    WHEN 'age' THEN format('it is older than %s', c.value #>> '{}')
    WHEN 'running' THEN format('it has been running for longer than %s', c.value #>> '{}')
    WHEN 'waiting' THEN format('it has been waiting for longer than %s', c.value #>> '{}')
    WHEN 'budget' THEN (SELECT string_agg(CASE jsonb_typeof(b.value)
        WHEN 'number' THEN format('%s of its budget of %s is spent', b.value, b.key)
        ELSE format('more than %s %s is spent', b.value -> 'above', b.key) END, ' and ' ORDER BY b.key)
            FROM jsonb_each(c.value) AS b)
    WHEN 'parent_failed' THEN 'its parent failed'
    WHEN 'superseded' THEN 'a newer job has its key'
    WHEN 'error_rate' THEN format('more than %s of the last %s jobs of its %s failed',
        c.value -> 'above', coalesce(c.value -> 'of', '20'), coalesce(c.value ->> 'by', 'queue')) END, ' and '
            ORDER BY c.key)
    FROM jsonb_each(spec -> 'when') AS c));
