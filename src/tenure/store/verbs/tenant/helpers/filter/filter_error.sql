-- Return why this is not a valid filter of jobs, as a sentence; null if it is.
CREATE OR REPLACE FUNCTION tenant.filter_error(filter jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known    CONSTANT text[] := ARRAY['id', 'status', 'state', 'queue', 'task', 'target', 'owner', 'tag',
        'key', 'parent', 'root', 'worker', 'text', 'since', 'until'];
    statuses CONSTANT text[] := ARRAY['pending', 'scheduled', 'waiting', 'blocked', 'queued', 'retrying',
        'running', 'cancelling', 'pausing', 'draining', 'paused', 'completed', 'failed', 'cancelled'];
BEGIN
    IF jsonb_typeof(filter) IS DISTINCT FROM 'object' THEN
        RETURN 'jobs are filtered by a JSON object such as {"queue": "slow", "status": "failed"}';
    END IF;
    -- Several values of id, status, tag or text are checked one by one.
    IF EXISTS (
        SELECT FROM jsonb_each(filter) AS f WHERE f.key IN ('status', 'tag', 'text')
          AND jsonb_path_exists(f.value,
              'strict $ ? (@.type() == "array" && (@.size() < 1 || @.size() > 20))')
    ) THEN
        RETURN 'a filter by status, tag or text takes 1 to 20 values';
    ELSIF jsonb_typeof(filter -> 'id') = 'array'
        AND jsonb_array_length(filter -> 'id') NOT BETWEEN 1 AND {filter_ids.max} THEN
        RETURN 'a filter by id takes 1 to {filter_ids.max} ids';
    END IF;
    RETURN (SELECT CASE
        WHEN length(f.value #>> '{}') > {filter_text.max} OR length(f.key) > {filter_text.max}
            THEN 'a filter takes texts of at most {filter_text.max} characters'
        WHEN f.key <> ALL (known)
            THEN format('jobs cannot be filtered by %L; the filters are %s', f.key,
                array_to_string(known, ', '))
        WHEN f.key = 'status' THEN format('jobs cannot have the status %s; they can be %s', f.value,
            array_to_string(statuses, ', '))
        WHEN f.key = 'state' THEN format('jobs cannot be in the state %s; they can be %s', f.value,
            array_to_string(enum_range(NULL::tenure.state), ', '))
        WHEN f.key = 'parent'
            THEN format('a filter by parent takes the id of a job, or "none", and %s is neither', f.value)
        WHEN f.key IN ('id', 'root')
            THEN format('a filter by %s takes the id of a job, and %s is none', f.key, f.value)
        WHEN f.key = 'worker' THEN format(
            'a filter by worker takes the id of a worker, which is a UUID, and %s is none', f.value)
        WHEN f.key IN ('since', 'until')
            THEN format('a filter by %s takes a timestamp such as "2030-01-31T12:00:00Z", and %s is none',
                f.key, f.value)
        ELSE format('a filter by %s takes a text that is not empty, and %s is none', f.key, f.value) END
    FROM (
        SELECT o.key, v.value FROM jsonb_each(filter) AS o
        CROSS JOIN LATERAL jsonb_array_elements(CASE
            WHEN o.key IN ('id', 'status', 'tag', 'text') AND jsonb_typeof(o.value) = 'array' THEN o.value
            ELSE jsonb_build_array(o.value) END) AS v
    ) AS f
    WHERE CASE
        WHEN length(f.value #>> '{}') > {filter_text.max} THEN true
        WHEN f.key <> ALL (known) THEN true
        WHEN f.key IN ('id', 'parent', 'root')
        AND jsonb_typeof(f.value) = 'number' THEN NOT tenant.filter_reads(f.value #>> '{}', 'bigint')
        WHEN jsonb_typeof(f.value) <> 'string' OR f.value = '""' THEN true
        WHEN f.key = 'status' THEN f.value #>> '{}' <> ALL (statuses)
        WHEN f.key = 'state' THEN f.value #>> '{}' <> ALL (enum_range(NULL::tenure.state)::text[])
        WHEN f.key = 'parent' AND f.value = '"none"' THEN false
        WHEN f.key IN ('id', 'parent', 'root') THEN NOT tenant.filter_reads(f.value #>> '{}', 'bigint')
        WHEN f.key = 'worker' THEN NOT tenant.filter_reads(f.value #>> '{}', 'uuid')
        WHEN f.key IN ('since', 'until') THEN NOT tenant.filter_reads(f.value #>> '{}', 'timestamp')
        ELSE false END
    ORDER BY f.key LIMIT 1);
END $$;
