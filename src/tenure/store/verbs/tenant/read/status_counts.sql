-- Count the jobs of a filter in each of these statuses, each up to "limit" + 1, so that no count reads more
-- jobs than that where an index or the order of the table finds them.
CREATE OR REPLACE FUNCTION tenant.status_counts(filter jsonb, statuses text[], "limit" integer DEFAULT 1000)
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wanted CONSTANT jsonb := tenant.with_times(filter - 'status');
    jobs   CONSTANT text := tenant.jobs_within(wanted);
    counts json;
BEGIN
    PERFORM tenant.refuse_text_alone(wanted);
    EXECUTE (
        SELECT format('SELECT json_build_object(%s)', string_agg(format(
            '%L, (SELECT count(*) FROM (SELECT %s AND (%s) LIMIT $2 + 1) AS c)',
            s.status, jobs, tenant.filter_status(s.status)), ', '))
        FROM unnest(statuses) AS s (status) WHERE tenant.filter_status(s.status) IS NOT NULL)
    INTO counts USING wanted, "limit";
    RETURN counts;
END $$;
