-- Return the jobs of a filter as the rest of a statement, as filtered_jobs does, with their ids limited by
-- the times of the filter and by "below"; otherwise the planner would read from the newest job down to them.
-- An hour and 10,000 ids are left for jobs enqueued at the same time and for a clock that was set back.
CREATE OR REPLACE FUNCTION tenant.jobs_within(filter jsonb, below bigint DEFAULT NULL) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    jobs  CONSTANT text := tenant.filtered_jobs(filter);
    first CONSTANT bigint := coalesce(
        tenant.id_at((filter ->> 'since')::timestamptz - interval '1 hour') - 10000, 0);
    last  CONSTANT bigint := least(below, 9223372036854775807,
        tenant.id_at((filter ->> 'until')::timestamptz + interval '1 hour') + 20000);
BEGIN
    -- Repeated for the arguments: the planner does not infer it.
    RETURN format('%s AND j.id >= %s AND j.id < %s', jobs, first, last)
        || CASE WHEN filter ? 'text' THEN format(' AND p.job_id >= %s AND p.job_id < %s', first, last)
            ELSE '' END;
END $$;
