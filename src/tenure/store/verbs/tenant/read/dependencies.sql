-- Return the jobs that a job comes after, and those that come after it, directly or through others, with the
-- edges between them: those up to 6 edges away, and about n jobs on each side.
CREATE OR REPLACE FUNCTION tenant.dependencies(job bigint, n integer DEFAULT 30) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    edges json;
    ids   bigint[];
BEGIN
    IF NOT tenant.can_see_job(dependencies.job) THEN
        PERFORM tenant.refuse_verb(dependencies.job, 'show');
    END IF;
    WITH RECURSIVE needed AS (
        SELECT e.job_id, e.needs_id, e.policy, 1 AS distance FROM tenant.edge AS e
        WHERE e.job_id = dependencies.job
        UNION SELECT e.job_id, e.needs_id, e.policy, u.distance + 1 FROM needed AS u
            JOIN tenant.edge AS e ON e.job_id = u.needs_id WHERE u.distance < 6
    ), needing AS (
        SELECT e.job_id, e.needs_id, e.policy, 1 AS distance FROM tenant.edge AS e
        WHERE e.needs_id = dependencies.job
        UNION SELECT e.job_id, e.needs_id, e.policy, d.distance + 1 FROM needing AS d
            JOIN tenant.edge AS e ON e.needs_id = d.job_id WHERE d.distance < 6
    ), found AS (
        SELECT DISTINCT f.job_id, f.needs_id, f.policy FROM (
            (SELECT * FROM needed LIMIT tenure.batch_size(n))
            UNION ALL (SELECT * FROM needing LIMIT n)) AS f)
    SELECT coalesce(json_agg(f), '[]'), array_agg(f.job_id) || array_agg(f.needs_id) INTO edges, ids
    FROM found AS f;
    RETURN json_build_object('edges', edges,
        'needs', (SELECT count(*) FROM tenant.edge AS e WHERE e.job_id = dependencies.job),
        'needed_by', (SELECT count(*) FROM tenant.edge AS e WHERE e.needs_id = dependencies.job),
        'jobs', (SELECT coalesce(json_agg(json_build_object('id', v.id, 'task', v.task, 'key', v.key,
            'status', v.status, 'args', tenant.preview(v.args)) ORDER BY v.id), '[]')
            FROM tenant.jobs AS v WHERE v.id = ANY (ids)));
END $$;
