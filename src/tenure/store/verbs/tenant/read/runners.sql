-- List the runners in which a job or a descendant runs, as their workers reported at their last beat
-- ("as_of").
--
-- "jobs" are those of them that run in it, "others" counts further jobs that share it. Jobs that began
-- after the last beat are listed without a runner. "ending" means that its end was requested.
CREATE OR REPLACE FUNCTION tenant.runners(job bigint) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM tenant.job AS j WHERE j.id = runners.job)
        OR NOT tenant.can_see_job(runners.job) THEN
        PERFORM tenant.refuse_verb(runners.job, 'show');
    END IF;
    RETURN (
        WITH RECURSIVE down AS (
            SELECT j.id, j.token, j.state, j.worker_id FROM tenant.job AS j WHERE j.id = runners.job
            UNION ALL
            SELECT c.id, c.token, c.state, c.worker_id FROM down CROSS JOIN LATERAL (
                SELECT j.id, j.token, j.state, j.worker_id FROM tenant.job AS j
                WHERE j.parent_id = down.id OFFSET 0) AS c
        ), placed AS (
            SELECT d.id, w.id AS worker_id, w.host, w.beat_at, r.key AS runner, r.value AS about,
                w.ending ? r.key AS ending
            FROM down AS d JOIN tenure.worker AS w ON w.id = d.worker_id
            LEFT JOIN LATERAL jsonb_each(w.runners) AS r
                ON r.value ->> 'tenant' = '{tenant}'
                    AND r.value -> 'jobs' @> jsonb_build_object(d.id::text, d.token)
            WHERE d.state = 'running'
        ), listed AS (
            SELECT p.runner, p.worker_id, p.host, p.beat_at AS as_of, p.about ->> 'kind' AS kind,
                (p.about -> 'pid')::integer AS pid, coalesce(p.ending, false) AS ending,
                json_agg(p.id ORDER BY p.id) AS jobs,
                (SELECT count(*) FROM jsonb_object_keys(p.about -> 'jobs')) - count(p.runner) AS others
            FROM placed AS p GROUP BY p.runner, p.worker_id, p.host, p.beat_at, p.about, p.ending
        )
        SELECT coalesce(json_agg(l ORDER BY l.runner, l.worker_id), '[]') FROM listed AS l);
END $$;
