-- Return open questions, oldest first: those of one job, or all that the caller may see.
CREATE OR REPLACE FUNCTION tenant.questions(job bigint DEFAULT NULL, n integer DEFAULT 100) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    IF questions.job IS NOT NULL AND NOT EXISTS (SELECT FROM tenant.job AS j
            WHERE j.id = questions.job AND tenant.can_see_job(j.id)) THEN
        PERFORM tenant.refuse_verb(questions.job, 'show');
    END IF;
    RETURN (SELECT coalesce(json_agg(json_build_object('id', q.id, 'job_id', q.job_id, 'name', q.name,
            'task', q.task, 'owner', q.owner, 'text', q.question ->> 'text', 'schema', q.question -> 'schema',
            'role', q.question ->> 'role', 'asked_at', q.started_at, 'due_at', q.due_at) ORDER BY q.id), '[]')
        FROM (
            SELECT s.*, l.task, p.owner FROM tenant.job_step AS s
            JOIN tenant.job AS j ON j.id = s.job_id JOIN tenant.lane AS l ON l.id = j.lane
            JOIN tenant.payload AS p ON p.job_id = s.job_id
            WHERE s.ended_at IS NULL AND s.question IS NOT NULL AND j.ended_at IS NULL
              AND (questions.job IS NULL OR s.job_id = questions.job)
              AND coalesce(s.due_at > now_ts, true) AND tenant.can_see_job(s.job_id)
            ORDER BY s.id LIMIT tenure.batch_size(n)) AS q);
END $$;
