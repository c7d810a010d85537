-- Return a cancellation record by its name, or the latest record of a job, with its members summed up.
--
-- The answer has about the same size however many members there are. It contains those that matter most: the
-- job, the others that took longest, and the first n above a job, as a page.
CREATE OR REPLACE FUNCTION tenant.stop_summary(
    name text DEFAULT NULL, job bigint DEFAULT NULL, after bigint DEFAULT 0, n integer DEFAULT 0
) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stop    CONSTANT bigint := tenant.find_cancellation(name, job);
    subject CONSTANT bigint := coalesce(job,
        (SELECT c.job_id FROM tenant.cancellation AS c WHERE c.id = stop));
    page    CONSTANT bigint[] := CASE WHEN n = 0 THEN '{}' ELSE ARRAY(
        SELECT m.job_id FROM tenant.member AS m WHERE m.stop_id = stop AND m.job_id > stop_summary.after
        ORDER BY m.job_id LIMIT tenure.batch_size(n)) END;
    chosen  bigint[];
    sums    jsonb;
BEGIN
    chosen := ARRAY(SELECT m.job_id FROM tenant.member AS m
        WHERE m.stop_id = stop AND m.job_id <> subject
        ORDER BY m.ended_at DESC NULLS FIRST, m.job_id DESC LIMIT 13) || subject || page;
    WITH m AS MATERIALIZED (SELECT b.* FROM tenant.member AS b WHERE b.stop_id = stop),
    time AS (
        SELECT c.initiated_at AS begin, extract(epoch FROM greatest(coalesce(c.completed_at, tenure.now())
            - c.initiated_at, interval '1 ms')) AS seconds
        FROM tenant.cancellation AS c WHERE c.id = stop
    ), failed AS (
        SELECT o.cleanup FROM m JOIN tenant.outcome AS o ON o.job_id = m.job_id
        WHERE m.ended_at IS NOT NULL AND o.cleanup IS NOT NULL
    ), cleaned AS (
        SELECT k.kind, x.name, min(x.place) AS place FROM failed AS f
        CROSS JOIN unnest(ARRAY['graceful_close_succeeded', 'force_closed', 'failed']) AS k (kind)
        CROSS JOIN jsonb_array_elements(CASE jsonb_typeof(f.cleanup -> k.kind)
            WHEN 'array' THEN f.cleanup -> k.kind ELSE '[]' END) WITH ORDINALITY AS x (name, place)
        GROUP BY k.kind, x.name
    )
    SELECT jsonb_build_object(
        'members', count(*), 'ended', count(m.ended_at),
        'completed', count(*) FILTER (WHERE m.became = 'completed' AND m.job_id <> subject),
        'slots', coalesce(sum(cardinality(m.slots)), 0),
        'artifacts', (SELECT count(*) FROM m AS b JOIN tenant.artifact AS a ON a.job_id = b.job_id),
        'rungs', (SELECT coalesce(jsonb_object_agg(r.rung, r.n), '{}') FROM (
            SELECT coalesce(b.rung::text, 'not running') AS rung, count(*) AS n FROM m AS b
            WHERE b.ended_at IS NOT NULL AND b.job_id <> subject GROUP BY b.rung) AS r),
        'ends', (SELECT coalesce(jsonb_agg(jsonb_build_array(
                t.begin + make_interval(secs => (t.seconds * e.part / 100)::double precision), e.n)
                ORDER BY e.part), '[]')
            FROM (SELECT ceil(100 * least(extract(epoch FROM b.ended_at - t.begin) / t.seconds, 1)) AS part,
                      count(*) AS n
                  FROM m AS b CROSS JOIN time AS t
                  WHERE b.ended_at IS NOT NULL AND b.job_id <> subject GROUP BY 1) AS e CROSS JOIN time AS t),
        'whole', jsonb_build_object(
            'job_id', 0, 'was', CASE WHEN bool_or(m.was = 'running') THEN 'running'::tenure.state
                ELSE min(m.was) END,
            'became', min(m.became) FILTER (WHERE m.job_id = subject), 'rung', max(m.rung),
            'worker_id', NULL, 'runner', NULL, 'error', NULL,
            'ended_at', CASE WHEN bool_and(m.ended_at IS NOT NULL) THEN max(m.ended_at) END,
            'pids', (SELECT coalesce(jsonb_agg(p.pid), '[]') FROM (
                SELECT unnest(b.pids) AS pid FROM m AS b LIMIT 12) AS p),
            'processes', coalesce(sum(coalesce(m.processes, cardinality(m.pids))), 0),
            'reached', (SELECT coalesce(jsonb_object_agg(r.rung, r.at), '{}') FROM (
                SELECT x.key AS rung, min(x.value::timestamptz) AS at
                FROM m AS b CROSS JOIN jsonb_each_text(b.reached) AS x GROUP BY x.key) AS r),
            'cleanup', (SELECT jsonb_object_agg(k.kind, k.names) || jsonb_build_object('cleanup_completed_at',
                    (SELECT max(f.cleanup ->> 'cleanup_completed_at') FROM failed AS f))
                FROM (SELECT c.kind, jsonb_agg(c.name ORDER BY c.place, c.name) AS names
                      FROM (SELECT d.*, row_number() OVER (
                                PARTITION BY d.kind ORDER BY d.place, d.name) AS row
                            FROM cleaned AS d) AS c WHERE c.row <= 10 GROUP BY c.kind) AS k)),
        'page', to_jsonb(page)
    ) INTO sums FROM m;
    RETURN (sums || jsonb_build_object('record', tenant.cancellation_report(stop, brief => true)::jsonb
        || jsonb_build_object('members', tenant.member_reports(stop, chosen))))::json;
END $$;
