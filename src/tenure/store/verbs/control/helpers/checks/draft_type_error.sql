-- Return why this JSON object cannot be read as a job, as the end of a sentence; null if it can.
--
-- It checks types; "validation_error" checks values. Without it PostgreSQL would convert an object to a
-- string, and a list of lists to a two-dimensional array.
CREATE OR REPLACE FUNCTION tenure.draft_type_error(job jsonb) RETURNS text
LANGUAGE sql STABLE
RETURN CASE
    WHEN jsonb_typeof(job -> 'task') NOT IN ('string', 'null')
            OR jsonb_typeof(job -> 'queue') NOT IN ('string', 'null')
            OR jsonb_typeof(job -> 'key') NOT IN ('string', 'null')
            OR jsonb_typeof(job -> 'owner') NOT IN ('string', 'null')
            OR jsonb_typeof(job -> 'unique') NOT IN ('string', 'null')
            OR jsonb_typeof(job -> 'idempotency') NOT IN ('string', 'null')
            OR jsonb_typeof(job -> 'target') NOT IN ('string', 'null')
        THEN 'has a task, queue, target, owner or key that is not a text'
    WHEN jsonb_typeof(job -> 'key_scope') NOT IN ('string', 'null')
        THEN 'has a key_scope that is not a text; it can be owner or tenant'
    WHEN jsonb_typeof(job -> 'when_taken') NOT IN ('string', 'null')
        THEN 'has a when_taken that is not a text; it can be return, replace or refuse'
    WHEN jsonb_typeof(job -> 'orphan') NOT IN ('string', 'null')
        THEN 'has an orphan that is not a text; it can be retry or fail'
    WHEN jsonb_typeof(job -> 'run_at') NOT IN ('string', 'null')
        THEN 'has a run_at that is not a text such as "2030-01-31T12:00:00Z"'
    WHEN jsonb_typeof(job -> 'delay') NOT IN ('string', 'number', 'null')
        THEN 'has a delay that is neither a number of seconds nor a text such as "20s"'
    WHEN job ? 'priority' AND job -> 'priority' <> 'null' AND CASE jsonb_typeof(job -> 'priority')
            WHEN 'number' THEN (job -> 'priority')::numeric NOT BETWEEN {priority.min} AND {priority.max}
                OR mod((job -> 'priority')::numeric, 1) <> 0
            ELSE true END
        THEN format('has a priority of %s; it takes a whole number from {priority.min} to {priority.max}',
            left(job ->> 'priority', 100))
    WHEN job ? 'max_attempts' AND job -> 'max_attempts' <> 'null' AND CASE jsonb_typeof(job -> 'max_attempts')
            WHEN 'number' THEN mod((job -> 'max_attempts')::numeric, 1) <> 0
                OR (job -> 'max_attempts')::numeric NOT BETWEEN {max_attempts.min} AND {max_attempts.max}
            ELSE true END
        THEN format('has max_attempts of %s; it takes a whole number from %s to %s',
            left(job ->> 'max_attempts', 100), {max_attempts.min}, {max_attempts.max})
    WHEN job ? 'tags' AND job -> 'tags' <> 'null'
            AND NOT tenure.are_names(job -> 'tags', {tags.max}, {tags.each})
        THEN 'has tags that are not a list of at most {tags.max} texts of 1 to {tags.each} characters'
    WHEN job ? 'pools' AND job -> 'pools' <> 'null'
            AND NOT tenure.are_names(job -> 'pools', {pools.max}, {pools.each})
        THEN 'has pools that are not a list of at most {pools.max} names of 1 to {pools.each} characters'
    WHEN job ? 'block_on' AND job -> 'block_on' <> 'null' AND NOT tenure.are_names(job -> 'block_on', 2, 10)
        THEN 'has a block_on that is not a list of "paused" and "failed"' END;
