-- Return a page of jobs as a list shows them: like list_jobs, with fewer fields, with the arguments unless
-- they are large, and with the number of children by state, which are counted up to 1,001.
--
-- "open" are jobs whose children are shown: of each the first 20, those that have not ended, then those that
-- ended last. "ids" are the jobs of the page; "rows" also has the children.
CREATE OR REPLACE FUNCTION tenant.job_rows(filter jsonb DEFAULT '{}', below bigint DEFAULT NULL,
    n integer DEFAULT 50, open bigint[] DEFAULT '{}') RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
{index_scans} AS $$
DECLARE
    ids        CONSTANT bigint[] := tenant.matching_ids(filter, below, n);
    below_open CONSTANT bigint[] := ARRAY(
        SELECT c.id FROM unnest(open) AS o (id) CROSS JOIN LATERAL (
            SELECT j.id FROM tenant.job AS j WHERE j.parent_id = o.id
            ORDER BY j.ended_at DESC LIMIT 20) AS c);
BEGIN
    IF cardinality(open) > 20 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('the children of at most 20 jobs are shown, not of %s', cardinality(open));
    END IF;
    RETURN json_build_object('ids', ids, 'rows', (
        SELECT coalesce(json_agg(json_build_object(
            'id', j.id, 'root_id', j.root_id, 'parent_id', j.parent_id, 'key', j.key, 'task', j.task,
            'queue', j.queue, 'status', j.status, 'state', j.state, 'waiting', j.waiting,
            'target', j.target, 'run_at', j.run_at, 'owner', j.owner, 'tags', j.tags,
            'attempt', j.attempt, 'max_attempts', j.max_attempts, 'created_at', j.created_at,
            'started_at', j.started_at, 'completed_at', j.completed_at, 'pause_reason', j.pause_reason,
            'cancellation_reason', j.cancellation_reason, 'error_message', left(j.error_message, 300),
            'progress', j.progress,
            'args', CASE WHEN pg_column_size(j.args) <= 8000 THEN j.args END,
            'children', f.children) ORDER BY j.completed_at DESC, j.id DESC), '[]')
        FROM tenant.jobs AS j
        LEFT JOIN LATERAL (
            SELECT json_object_agg(s.state, s.n) AS children FROM (
                SELECT c.state, count(*) AS n FROM (
                    SELECT o.state FROM tenant.job AS o WHERE o.parent_id = j.id LIMIT 1001) AS c
                GROUP BY c.state) AS s) AS f ON true
        WHERE j.id = ANY (ids || below_open)));
END $$;
