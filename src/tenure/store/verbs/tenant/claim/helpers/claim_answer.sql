-- Return what a worker needs to run the jobs it has just claimed, and the floors for its next claim.
--
-- By columns, not by jobs: repeating every name and type for every job took half the time of a claim. Empty
-- columns are left out.
CREATE OR REPLACE FUNCTION tenant.claim_answer(ids bigint[], draw bigint, floors jsonb, alive boolean)
RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    columns record;  -- of the jobs, and the range of their lanes, priorities and positions
    reach   jsonb;
    lanes   json;    -- task and queue of each
BEGIN
    IF ids = '{}' THEN
        RETURN json_build_object('alive', alive, 'floors', floors);
    END IF;
    SELECT json_build_object(
        'id', json_agg(c.id), 'lane', json_agg(c.lane), 'args', json_agg(c.args),
        'attempt', json_agg(c.attempt), 'max_attempts', json_agg(c.max_attempts),
        'crashes', json_agg(c.crashes), 'priority', json_agg(c.priority),
        'alone', CASE WHEN bool_or(c.alone) THEN json_agg(c.alone) END,
        'owner', json_agg(c.owner), 'root_id', json_agg(c.root_id),
        'parent_id', CASE WHEN count(c.parent_id) > 0 THEN json_agg(c.parent_id) END,
        'key', CASE WHEN count(c.key) > 0 THEN json_agg(c.key) END,
        'target', CASE WHEN count(c.target) > 0 THEN json_agg(c.target) END,
        'options', CASE WHEN count(c.options) > 0 THEN json_agg(c.options) END,
        'budget', CASE WHEN count(c.budget) > 0 THEN json_agg(c.budget) END,
        'checkpoint', CASE WHEN count(c.checkpoint) > 0 THEN json_agg(c.checkpoint) END,
        'resume_value', CASE WHEN count(c.resume_value) > 0 THEN json_agg(c.resume_value) END,
        'slots', CASE WHEN count(c.slots) > 0 THEN json_agg(c.slots) END,
        'waited_ms', json_agg(CASE
            WHEN isfinite(c.run_at) THEN (extract(epoch FROM c.started_at - c.run_at) * 1000)::bigint END)
        ) AS jobs,
        min(c.lane) AS first_lane, max(c.lane) AS last_lane, min(c.task) AS task, min(c.queue) AS queue,
        min(c.priority) AS lowest, max(c.priority) AS highest, max(c.position) AS last_turn
    INTO columns FROM (
        SELECT j.*, p.args, p.owner, p.key, p.options, p.budget, o.checkpoint, o.resume_value,
            l.task, l.queue, CASE WHEN l.pools <> '{}' THEN (
                SELECT json_object_agg(s.pool, s.name) FROM tenant.slot AS s WHERE s.job_id = j.id
            ) END AS slots
        FROM tenant.job AS j
        JOIN tenant.lane AS l ON l.id = j.lane
        JOIN tenant.payload AS p ON p.job_id = j.id
        LEFT JOIN tenant.outcome AS o ON o.job_id = j.id
        WHERE j.id = ANY (ids)
        ORDER BY j.priority DESC, j.position
    ) AS c;

    IF columns.first_lane = columns.last_lane AND columns.lowest = columns.highest THEN
        reach := jsonb_build_object(columns.first_lane,
            coalesce(floors -> columns.first_lane::text, '{}')
            || jsonb_build_object(columns.lowest, columns.last_turn));
        lanes := json_build_object(columns.first_lane, json_build_array(columns.task, columns.queue));
    ELSE
        SELECT jsonb_object_agg(f.lane, coalesce(floors -> f.lane::text, '{}') || f.positions) INTO reach
        FROM (
            SELECT t.lane, jsonb_object_agg(t.priority, t.position) AS positions FROM (
                SELECT j.lane, j.priority, max(j.position) AS position FROM tenant.job AS j
                WHERE j.id = ANY (ids)
                GROUP BY j.lane, j.priority) AS t
            GROUP BY t.lane) AS f;
        lanes := (SELECT json_object_agg(l.id, json_build_array(l.task, l.queue)) FROM tenant.lane AS l
            WHERE l.id = ANY (SELECT r.key::integer FROM jsonb_object_keys(reach) AS r(key)));
    END IF;
    RETURN json_build_object('alive', alive, 'token', draw, 'jobs', columns.jobs,
        'floors', floors || coalesce(reach, '{}'), 'lanes', lanes);
END $$;
