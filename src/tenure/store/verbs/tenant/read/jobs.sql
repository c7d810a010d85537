-- Show a row per job with the words that users know. It shows no token: a token is needed to act as its
-- worker.
CREATE OR REPLACE VIEW tenant.jobs AS
SELECT
    j.id, j.root_id, j.parent_id, p.key, l.task, l.queue,
    tenure.status(j.state, j.waiting, j.attempt, s.intent, w.draining_at IS NOT NULL) AS status,
    j.state, j.waiting, j.priority, j.target, j.run_at, p.owner, p.tags,
    j.attempt, j.max_attempts, greatest(j.attempt - 1, 0) AS retry_count, j.max_attempts - 1 AS max_retries,
    j.crashes,
    j.worker_id, j.worker_id AS lease_owner, w.beat_at AS heartbeat_at, w.beat_at AS last_heartbeat_at,
    w.expires_at AS lease_expires_at,
    j.created_at, j.started_at, j.ended_at AS completed_at,
    j.stop_id IS NOT NULL AND j.state IN ('pending', 'running') AS cancel_requested,
    CASE WHEN j.state = 'cancelled' THEN j.ended_at END AS cancelled_at,
    s.initiated_by AS cancelled_by, s.reason AS cancellation_reason,
    tenant.cancellation_name(s.id, s.intent) AS cancellation_id,
    CASE WHEN j.state = 'paused' THEN coalesce(s.reason, o.error ->> 'message') END AS pause_reason,
    CASE WHEN NOT x.is_pause THEN o.error ->> 'message' END AS error_message,
    -- Secret arguments are neither shown nor searched.
    CASE WHEN NOT p.options ? 'secret' OR p.options IS NULL THEN p.args
         WHEN jsonb_typeof(p.args) <> 'object' THEN '"***"' ELSE (
        SELECT coalesce(jsonb_object_agg(a.key,
            CASE WHEN p.options -> 'secret' ? a.key THEN '"***"' ELSE a.value END), '{}')
        FROM jsonb_each(p.args) AS a) END AS args,
    p.options, p.budget, o.result, o.result_artifact,
    CASE WHEN NOT x.is_pause THEN o.error END AS error,
    o.checkpoint, o.progress, o.cleanup
FROM tenant.job AS j
JOIN tenant.lane AS l ON l.id = j.lane
JOIN tenant.payload AS p ON p.job_id = j.id
LEFT JOIN tenant.outcome AS o ON o.job_id = j.id
-- What a job raises to pause itself is kept where errors are, and is a reason.
CROSS JOIN LATERAL (SELECT coalesce(o.error ->> 'type' = 'tenure.Pause', false) AS is_pause) AS x
LEFT JOIN tenant.cancellation AS s ON s.id = j.stop_id
LEFT JOIN tenure.worker AS w ON w.id = j.worker_id;
