-- Return the jobs of a filter as the rest of a statement: FROM and WHERE, over job j, its payload p, its
-- cancellation s and its worker w. $1 is the filter. A job has one of several ids and statuses, and all of
-- several tags and texts.
--
-- Every list, count and bulk operation comes through here. No value of the caller's becomes part of the
-- statement. Values that an index needs are constants chosen here: a state, the lanes of a queue.
CREATE OR REPLACE FUNCTION tenant.filtered_jobs(filter jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    problem CONSTANT text := tenant.filter_error(filter);
    lanes   integer[];
    wanted  text[] := '{}';
BEGIN
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = problem;
    END IF;
    IF filter ?| ARRAY['queue', 'task'] THEN
        lanes := ARRAY(SELECT l.id FROM tenant.lane AS l
            WHERE (NOT filter ? 'queue' OR l.queue = filter ->> 'queue')
              AND (NOT filter ? 'task' OR l.task = filter ->> 'task'));
        wanted := wanted || format('j.lane = ANY (%L::integer[])', lanes);
    END IF;
    wanted := wanted || ARRAY(SELECT CASE f.key
        WHEN 'id' THEN 'j.id = ANY (ARRAY(
            SELECT (i.value #>> ''{}'')::bigint FROM jsonb_path_query($1, ''$.id[*]'') AS i (value)))'
        WHEN 'status' THEN (SELECT format('(%s)', string_agg(tenant.filter_status(s.value #>> '{}'), ' OR '))
            FROM jsonb_path_query(filter, '$.status[*]') AS s (value))
        WHEN 'state' THEN CASE f.value
            -- A pending job is ready or waits; each case has an index.
            WHEN 'pending' THEN format('j.state = ''pending'' AND (j.ready OR %s)', tenant.filter_idle())
            WHEN 'failed' THEN tenant.filter_status('failed')
            WHEN 'cancelled' THEN tenant.filter_status('cancelled')
            ELSE format('j.state = %L', f.value::tenure.state) END
        WHEN 'target' THEN 'j.target = $1 ->> ''target'''
        WHEN 'owner' THEN 'p.owner = $1 ->> ''owner'''
            || CASE WHEN f.value NOT LIKE 'db:%' THEN ' AND p.owner NOT LIKE ''db:%''' ELSE '' END
        WHEN 'tag' THEN format('p.tags @> ARRAY[%s]',
            array_to_string(tenant.filter_terms(filter, 'tag'), ', '))
        WHEN 'key' THEN 'p.key = $1 ->> ''key'''
        WHEN 'parent' THEN CASE f.value WHEN 'none' THEN 'j.parent_id IS NULL'
            ELSE 'j.parent_id = ($1 ->> ''parent'')::bigint' END
        WHEN 'root' THEN 'j.root_id = ($1 ->> ''root'')::bigint AND j.id = ANY (ARRAY(
            WITH RECURSIVE tree AS (
                SELECT ($1 ->> ''root'')::bigint AS id
                UNION ALL SELECT c.id FROM tree CROSS JOIN LATERAL (
                    SELECT o.id FROM tenant.job AS o WHERE o.parent_id = tree.id OFFSET 0) AS c)
            SELECT tree.id FROM tree))'
        WHEN 'worker' THEN 'j.state = ''running'' AND j.worker_id = ($1 ->> ''worker'')::uuid'
        -- Search the arguments as they are shown: masked values are not found.
        WHEN 'text' THEN (SELECT string_agg(format(
            'strpos(lower(p.args::text), lower(%1$s)) > 0 AND '
            'strpos(lower((SELECT v.args::text FROM tenant.jobs AS v WHERE v.id = j.id)), lower(%1$s)) > 0',
            term), ' AND ')
            FROM unnest(tenant.filter_terms(filter, 'text')) AS term)
        WHEN 'since' THEN 'j.created_at >= ($1 ->> ''since'')::timestamptz'
        WHEN 'until' THEN 'j.created_at < ($1 ->> ''until'')::timestamptz' END
        FROM jsonb_each_text(filter) AS f WHERE f.key NOT IN ('queue', 'task'));
    RETURN ' FROM tenant.job AS j LEFT JOIN tenant.payload AS p ON p.job_id = j.id'
        ' LEFT JOIN tenant.cancellation AS s ON s.id = j.stop_id'
        ' LEFT JOIN tenure.worker AS w ON w.id = j.worker_id WHERE '
        || coalesce(nullif(array_to_string(wanted, ' AND '), ''), 'true');
END $$;
