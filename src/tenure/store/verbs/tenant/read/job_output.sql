-- Return partial results, log lines or events of a job, oldest first: the first n, or the "newest". Nothing
-- of a job that the caller may not see.
CREATE OR REPLACE FUNCTION tenant.job_output(
    job bigint, kind text, above bigint DEFAULT 0, n integer DEFAULT 1000, newest boolean DEFAULT false
) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT tenant.can_see_job(job_output.job) THEN
        RETURN '[]';
    END IF;
    IF newest THEN
        above := greatest(above, CASE kind
            WHEN 'partials' THEN (SELECT p.id FROM tenant.partial AS p WHERE p.job_id = job_output.job
                ORDER BY p.id DESC OFFSET n LIMIT 1)
            WHEN 'logs' THEN (SELECT l.id FROM tenant.log AS l WHERE l.job_id = job_output.job
                ORDER BY l.id DESC OFFSET n LIMIT 1)
            WHEN 'events' THEN (SELECT e.id FROM tenant.event AS e WHERE e.job_id = job_output.job
                ORDER BY e.id DESC OFFSET n LIMIT 1)
        END);
    END IF;
    RETURN CASE kind
        WHEN 'partials' THEN (SELECT coalesce(
            json_agg(json_build_object('id', x.id, 'at', x.at, 'value', x.value) ORDER BY x.id), '[]')
            FROM (SELECT * FROM tenant.partial AS p WHERE p.job_id = job_output.job AND p.id > above
                ORDER BY p.id LIMIT n) AS x)
        WHEN 'logs' THEN (SELECT coalesce(
            json_agg(json_build_object('id', x.id, 'at', x.at, 'level', x.level, 'line', x.line)
            ORDER BY x.id), '[]')
            FROM (SELECT * FROM tenant.log AS l WHERE l.job_id = job_output.job AND l.id > above ORDER BY l.id
                LIMIT n) AS x)
        WHEN 'events' THEN (SELECT coalesce(
            json_agg(json_build_object('id', x.id, 'at', x.at, 'kind', x.kind, 'worker_id', x.worker_id,
            'detail', x.detail) ORDER BY x.id), '[]')
            FROM (SELECT * FROM tenant.event AS e WHERE e.job_id = job_output.job AND e.id > above
                ORDER BY e.id LIMIT n) AS x)
    END;
END $$;
