-- Tell webhooks what has just happened to these jobs, if it is an end, a pause or a new question. Return
-- whether there is something to deliver.
CREATE OR REPLACE FUNCTION tenant.announce_jobs(jobs bigint[]) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    RETURN coalesce((
        SELECT bool_or(tenant.write_deliveries(e.event, e.id, e.task, e.data))
        FROM (
            SELECT j.id, l.task,
                'job.' || CASE WHEN j.state = 'pending' THEN 'question' ELSE j.state::text END AS event,
                jsonb_build_object('tenant', '{tenant}', 'job_id', j.id, 'key', p.key, 'task', l.task,
                    'queue', l.queue, 'owner', p.owner, 'tags', to_jsonb(p.tags),
                    'parent_id', j.parent_id, 'state', j.state, 'attempt', j.attempt,
                    'created_at', j.created_at, 'started_at', j.started_at, 'ended_at', j.ended_at,
                    'cancellation_id', tenant.cancellation_name(c.id, c.intent), 'reason', c.reason)
                || CASE WHEN j.state = 'completed' THEN jsonb_build_object('result', r.result,
                        'result_omitted', r.result IS NULL
                            AND (o.result IS NOT NULL OR o.result_artifact IS NOT NULL))
                    ELSE jsonb_build_object('error', o.error - 'traceback') END
                || CASE WHEN q.id IS NULL THEN '{}' ELSE jsonb_build_object('question', q.question
                    || jsonb_build_object('id', q.id, 'name', q.name, 'due_at', q.due_at)) END AS data
            FROM tenant.job AS j
            JOIN tenant.lane AS l ON l.id = j.lane
            JOIN tenant.payload AS p ON p.job_id = j.id
            LEFT JOIN tenant.outcome AS o ON o.job_id = j.id
            LEFT JOIN LATERAL (SELECT o.result
                WHERE octet_length(o.result::text) <= 16384) AS r ON true
            LEFT JOIN tenant.cancellation AS c ON c.id = j.stop_id
            -- Asked by this attempt: a job that waits again for the same answer has been announced.
            LEFT JOIN tenant.job_step AS q ON q.job_id = j.id AND q.ended_at IS NULL
                AND q.question IS NOT NULL AND q.started_at >= j.started_at AND j.waiting = 'answer'
            WHERE j.id = ANY (jobs)
              AND (j.state IN ('completed', 'failed', 'cancelled', 'paused') OR q.id IS NOT NULL)
            ORDER BY j.id) AS e), false);
END $$;
