-- Why this cannot be a job, as the end of a sentence; null when it can.
CREATE OR REPLACE FUNCTION tenure.complaint(d tenure.draft) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE
    WHEN d.args IS NULL OR jsonb_typeof(d.args) <> 'object'
        THEN 'has arguments that are not a JSON object; give {"name": value, ...}'
    WHEN pg_column_size(d.args) > 1048576
        THEN format('has arguments of %s bytes; 1048576 is the most, so store large things elsewhere and pass their name', pg_column_size(d.args))
    WHEN d.task = '' THEN 'has an empty task name; leave it out for a job without code of its own'
    WHEN coalesce(d.queue, '') = '' THEN 'has an empty queue name; leave it out for "default"'
    WHEN d.key = '' OR d."unique" = '' OR d.idempotency = '' OR d.target = '' OR d.owner = ''
        THEN 'has an empty key, target or owner; leave it out instead'
    WHEN greatest(length(d.key), length(d.task), length(d.queue), length(d.owner),
            length(d."unique"), length(d.idempotency), length(d.target)) > 500
        THEN 'has a name or key longer than 500 characters'
    WHEN coalesce(d.max_attempts, 0) < 1
        THEN format('has max_attempts of %s; at least one attempt is needed', coalesce(d.max_attempts::text, 'null'))
    WHEN d.priority IS NULL THEN 'has no priority; leave it out for 0'
    WHEN coalesce(d.when_taken, '') NOT IN ('return', 'replace', 'refuse')
        THEN format('has when_taken %L; it can be return, replace or refuse', d.when_taken)
    WHEN coalesce(d.orphan, '') NOT IN ('retry', 'fail')
        THEN format('has orphan %L; it can be retry or fail', d.orphan)
    WHEN NOT coalesce(d.block_on <@ ARRAY['paused', 'failed'], false)
        THEN 'has a block_on that holds something else than "paused" and "failed"'
    WHEN d.delay IS NOT NULL AND NOT d.delay BETWEEN interval '0' AND interval '100 years'
        THEN format('has a delay of %s; it must lie between 0 and a hundred years', d.delay)
    WHEN d.delay IS NOT NULL AND d.run_at IS NOT NULL
        THEN 'has both a delay and a run_at; give one of them'
    WHEN d.task IS NULL AND (d.target IS NOT NULL OR cardinality(d.pools) > 0 OR d.after IS NOT NULL
            OR d.run_at IS NOT NULL OR d.delay IS NOT NULL)
        THEN 'has no code of its own, so it takes no target, slot, time or dependency; give them to its tasks'
    WHEN d.options ? 'secret' AND (jsonb_typeof(d.options -> 'secret') <> 'array' OR d.options @? '$.secret[*] ? (@.type() != "string")')
        THEN 'has an option "secret" that is not a list of names of arguments'
    WHEN d.budget IS NOT NULL AND (jsonb_typeof(d.budget) <> 'object'
            OR d.budget @? '$.* ? (@.type() != "number" || @ < 0)')
        THEN 'has a budget that is not {"unit": limit, ...} with limits of zero or more'
    WHEN d.after IS NOT NULL AND jsonb_typeof(d.after) <> 'array'
        THEN 'has an "after" that is not a list of jobs'
END;
