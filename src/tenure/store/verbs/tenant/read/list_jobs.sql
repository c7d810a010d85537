-- List jobs that match a filter, newest first; a page continues below the last id of the previous page.
--
-- A filter has any of id, status, state, queue, task, target, owner, tag, key, parent, root, worker, text
-- (in the arguments), since and until (when the job was created: a timestamp, or a number of seconds ago);
-- a job matches when all of them hold. status, tag and text take several values as an array: a job has one
-- of the statuses, and all of the tags and texts.
CREATE OR REPLACE FUNCTION tenant.list_jobs(filter jsonb DEFAULT '{}', below bigint DEFAULT NULL,
    n integer DEFAULT 50) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    wanted CONSTANT jsonb := tenure.with_timestamp(tenure.with_timestamp(filter, 'since', now_ts, true),
        'until', now_ts, true);
    jobs   CONSTANT text := tenant.filtered_jobs(wanted);
    -- Limit the ids by the time; otherwise the planner would read from the newest job down to it. An hour
    -- and 10,000 ids are left for jobs enqueued at the same time and for a clock that was set back.
    first  CONSTANT bigint := tenant.id_at((wanted ->> 'since')::timestamptz - interval '1 hour') - 10000;
    last   CONSTANT bigint := tenant.id_at((wanted ->> 'until')::timestamptz + interval '1 hour') + 20000;
    ids    bigint[];
BEGIN
    IF n IS NULL OR n NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('a page of %s jobs is not possible; 1 to 1000 are', coalesce(n::text, 'no'));
    END IF;
    PERFORM tenant.refuse_text_alone(wanted);
    -- Repeated for the arguments: the planner does not infer it.
    EXECUTE format('SELECT ARRAY(SELECT j.id %s AND j.id < $2 AND j.id >= $4 %s ORDER BY j.id DESC LIMIT $3)',
        jobs,
        CASE WHEN wanted ? 'text' THEN 'AND p.job_id < $2 AND p.job_id >= $4' ELSE '' END)
    INTO ids USING wanted, least(below, last, 9223372036854775807), n, coalesce(first, 0);
    RETURN (SELECT coalesce(
        json_agg(to_jsonb(j) - '{args,options,result,checkpoint,cleanup}'::text[] ORDER BY j.id DESC), '[]')
        FROM tenant.jobs AS j WHERE j.id = ANY (ids));
END $$;
