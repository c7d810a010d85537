-- List jobs that match a filter, newest first; a page continues below the last id of the previous page.
--
-- A filter has any of id, status, state, queue, task, target, owner, tag, key, parent, root, worker, text
-- (in the arguments), since and until (when the job was created: a timestamp, or a number of seconds ago);
-- a job matches when all of them hold. id, status, tag and text take several values as an array: a job has
-- one of the ids and statuses, and all of the tags and texts. The parent "none" is that of a root.
CREATE OR REPLACE FUNCTION tenant.list_jobs(filter jsonb DEFAULT '{}', below bigint DEFAULT NULL,
    n integer DEFAULT 50) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    ids CONSTANT bigint[] := tenant.matching_ids(filter, below, n);
BEGIN
    RETURN (SELECT coalesce(
        json_agg(to_jsonb(j) - '{args,options,result,checkpoint,cleanup}'::text[] ORDER BY j.id DESC), '[]')
        FROM tenant.jobs AS j WHERE j.id = ANY (ids));
END $$;
