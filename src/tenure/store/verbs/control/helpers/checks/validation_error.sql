-- Return why this draft is not a valid job, as the end of a sentence; null if it is.
--
-- A draft of the common kind is recognised first, by conditions without a query: PostgreSQL prepares each
-- expression again in every transaction, and would do so for all that can be wrong. A draft that is not
-- recognised is not invalid, only not plain.
CREATE OR REPLACE FUNCTION tenure.validation_error(d tenure.draft) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF jsonb_typeof(d.args) = 'object' AND pg_column_size(d.args) <= {args.max}
        AND tenure.json_error(d.args) IS NULL
        AND d.task <> '' AND d.queue <> '' AND length(d.task) + length(d.queue) <= {queue.max}
        AND num_nonnulls(d.key, d."unique", d.idempotency, d.target, d.owner, d.key_scope, d.delay, d.run_at,
            d.budget, d.after) = 0
        AND d.max_attempts IS NOT NULL AND d.priority IS NOT NULL
        AND d.when_taken = 'return' AND d.orphan = 'retry' AND d.block_on = ARRAY['paused', 'failed']
        AND (d.options IS NULL OR tenure.are_plain_options(d.options)) THEN
        RETURN NULL;
    END IF;
    RETURN CASE
        WHEN d.args IS NULL OR jsonb_typeof(d.args) <> 'object'
            THEN 'has arguments that are not a JSON object; give {"name": value, ...}'
        WHEN pg_column_size(d.args) > {args.max}
            THEN format('has arguments of %s bytes; the maximum is {args.max}, so store large values '
                'elsewhere and pass their name', pg_column_size(d.args))
        WHEN tenure.json_error(d.args) IS NOT NULL THEN 'has arguments ' || tenure.json_error(d.args)
        WHEN d.task = '' THEN 'has an empty task name; leave it out for a job without code of its own'
        WHEN coalesce(d.queue, '') = '' THEN 'has an empty queue name; leave it out for "default"'
        WHEN d.key = '' OR d."unique" = '' OR d.idempotency = '' OR d.target = '' OR d.owner = ''
            THEN 'has an empty key, target or owner; leave it out instead'
        WHEN length(d.task) > {task.max} OR length(d.queue) > {queue.max} OR length(d.key) > {key.max}
                OR length(d.owner) > {owner.max} OR length(d."unique") > {unique.max}
                OR length(d.idempotency) > {idempotency.max} OR length(d.target) > {target.max}
            THEN 'has a name or key longer than {task.max} characters'
        WHEN d.max_attempts IS NULL THEN 'has max_attempts of null; at least one attempt is needed'
        WHEN d.priority IS NULL THEN 'has no priority; leave it out for 0'
        WHEN coalesce(d.when_taken, '') NOT IN ('return', 'replace', 'refuse')
            THEN format('has when_taken %L; it can be return, replace or refuse', left(d.when_taken, 100))
        WHEN coalesce(d.key_scope, 'owner') NOT IN ('owner', 'tenant')
            THEN format('has a key_scope %L; it can be owner or tenant', left(d.key_scope, 100))
        WHEN coalesce(d.orphan, '') NOT IN ('retry', 'fail')
            THEN format('has orphan %L; it can be retry or fail', left(d.orphan, 100))
        WHEN NOT coalesce(d.block_on <@ ARRAY['paused', 'failed'], false)
            THEN 'has a block_on that holds something else than "paused" and "failed"'
        WHEN d.delay IS NOT NULL AND NOT d.delay BETWEEN interval '0' AND {delay.max}
            THEN format('has a delay of %s; it must lie between 0 and 36500 days', d.delay)
        WHEN d.delay IS NOT NULL AND d.run_at IS NOT NULL
            THEN 'has both a delay and a run_at; give one of them'
        WHEN d.run_at IS NOT NULL AND NOT d.run_at BETWEEN {run_at.earliest} AND {run_at.latest}
            THEN format('has a run_at of %s; it takes a time in the years 1970 to 9999', d.run_at)
        WHEN d.task IS NULL AND (d.target IS NOT NULL OR cardinality(d.pools) > 0 OR d.after IS NOT NULL
                OR d.run_at IS NOT NULL OR d.delay IS NOT NULL OR cardinality(d.limits) > 0)
            THEN 'has no code of its own, so it takes no target, slot, limit, time or dependency; '
                'give them to its tasks'
        WHEN d.options IS NOT NULL AND NOT tenure.are_plain_options(d.options)
                AND tenure.options_error(d.options) IS NOT NULL
            THEN tenure.options_error(d.options)
        WHEN d.budget IS NOT NULL AND tenure.is_bad_budget(d.budget)
            THEN 'has a budget that is not {"unit": limit, ...} with at most {budget.max} units, '
                'named by 1 to {unit.max} characters, and limits from 0 to 1e18'
        WHEN d.after IS NOT NULL AND jsonb_typeof(d.after) <> 'array'
            THEN 'has an "after" that is not a list of jobs'
        WHEN jsonb_array_length(d.after) > {after.max}
            THEN 'comes after more than {after.max} jobs; put a job without code of its own in between'
    END;
END $$;
