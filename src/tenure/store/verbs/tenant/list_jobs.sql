-- Jobs, newest first, that match a filter; a page goes on below the last id of the one before.
--
-- A filter has any of id, status, state, queue, task, target, owner, tag, key, parent, root, worker, text
-- (in the arguments), since and until (when it was created); a job matches when all of it holds.
CREATE OR REPLACE FUNCTION tenant.list_jobs(filter jsonb DEFAULT '{}', below bigint DEFAULT NULL, n integer DEFAULT 50) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    jobs CONSTANT text := tenant.filtered_jobs(filter);
    ids  bigint[];
BEGIN
    IF n IS NULL OR n NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('a page of %s jobs is not possible; 1 to 1000 are', coalesce(n::text, 'no'));
    END IF;
    EXECUTE format('SELECT ARRAY(SELECT j.id %s AND j.id < $2 ORDER BY j.id DESC LIMIT $3)', jobs)
    INTO ids USING filter, coalesce(below, 9223372036854775807), n;
    RETURN (SELECT coalesce(json_agg(to_jsonb(j) - 'args' - 'options' - 'result' - 'checkpoint' - 'cleanup' ORDER BY j.id DESC), '[]')
        FROM tenant.jobs AS j WHERE j.id = ANY (ids));
END $$;
