-- Return the state of a job, and the next of its output "above" a number, oldest first: at most n items, and
-- fewer if they are large. Without a number return no item. "newest" is the number of the newest output.
--
-- State and output are read by one statement: if the job has ended, no output follows the newest number.
-- "follow" says that the caller waits for more: for half a minute, reports of the job notify readers.
CREATE OR REPLACE FUNCTION tenant.stream(
    job bigint, above bigint DEFAULT NULL, n integer DEFAULT 200, follow boolean DEFAULT false
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    answer json;
BEGIN
    IF above > (SELECT s.last_value FROM tenant.output AS s) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
            'there is no output with the number %s yet; the newest has the number %s', above,
            (SELECT s.last_value FROM tenant.output AS s));
    END IF;
    IF follow AND NOT EXISTS (SELECT FROM tenant.reader AS r
            WHERE r.job_id = stream.job AND r.until > now_ts + interval '15 seconds') THEN
        INSERT INTO tenant.reader AS r (job_id, until) VALUES (stream.job, now_ts + interval '30 seconds')
        ON CONFLICT (job_id) DO UPDATE SET until = excluded.until;
        DELETE FROM tenant.reader AS r WHERE r.job_id IN (
            SELECT o.job_id FROM tenant.reader AS o WHERE o.until < now_ts FOR UPDATE SKIP LOCKED);
    END IF;
    SELECT json_build_object('state', j.state, 'status', j.status, 'attempt', j.attempt,
        'reason', coalesce(j.cancellation_reason, j.pause_reason,
            CASE WHEN j.state <> 'running' THEN j.error_message END),
        'progress', j.progress,
        'question', CASE WHEN j.waiting = 'answer' THEN (SELECT json_build_object('id', q.id, 'name', q.name,
                'text', q.question ->> 'text', 'schema', q.question -> 'schema',
                'role', q.question ->> 'role', 'due_at', q.due_at)
            FROM tenant.job_step AS q
            WHERE q.job_id = stream.job AND q.ended_at IS NULL AND q.question IS NOT NULL) END,
        'newest', greatest((SELECT max(p.id) FROM tenant.partial AS p WHERE p.job_id = stream.job),
            (SELECT max(l.id) FROM tenant.log AS l WHERE l.job_id = stream.job), 0),
        'items', CASE WHEN above IS NULL THEN '[]' ELSE (SELECT coalesce(json_agg(json_build_object(
                'number', x.id, 'kind', x.kind, 'at', x.at, 'value', x.value) ORDER BY x.id), '[]')
            FROM (
                SELECT o.*, sum(pg_column_size(o.value)) OVER (
                    ORDER BY o.id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS size
                FROM (
                    (SELECT p.id, 'partial' AS kind, p.at, p.value FROM tenant.partial AS p
                        WHERE p.job_id = stream.job AND p.id > above ORDER BY p.id LIMIT n)
                    UNION ALL (SELECT l.id, 'log', l.at, jsonb_build_object('level', l.level, 'line', l.line)
                        FROM tenant.log AS l
                        WHERE l.job_id = stream.job AND l.id > above ORDER BY l.id LIMIT n)
                    ORDER BY id LIMIT n) AS o) AS x
            WHERE x.size IS NULL OR x.size < 1000000) END)
    INTO answer FROM tenant.jobs AS j WHERE j.id = stream.job AND tenant.can_see_job(stream.job);
    IF NOT FOUND THEN
        PERFORM tenant.refuse_verb(stream.job, 'stream');
    END IF;
    RETURN answer;
END $$;
