-- Running jobs after this id whose worker is dead, or unknown for too long, as outcomes to conclude.
-- A dry run also shows those whose worker's lease is over but who is not declared dead yet.
CREATE OR REPLACE FUNCTION tenant.orphans(
    last bigint, grace interval, orphan_after interval, ids bigint[], dry_run boolean, message text, n integer
) RETURNS SETOF jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
DECLARE
    moment CONSTANT timestamptz := tenure.now();
BEGIN
    RETURN QUERY
    WITH RECURSIVE holder AS (
        (SELECT j.worker_id FROM tenant.job AS j WHERE j.state = 'running' ORDER BY j.worker_id LIMIT 1)
        UNION ALL
        SELECT (SELECT j.worker_id FROM tenant.job AS j WHERE j.state = 'running' AND j.worker_id > holder.worker_id
                ORDER BY j.worker_id LIMIT 1)
        FROM holder WHERE holder.worker_id IS NOT NULL
    )
    SELECT jsonb_build_object('job', j.id, 'token', j.token, 'worker', j.worker_id, 'outcome', 'expired', 'rung', 'expired',
        'error', jsonb_build_object('type', 'Orphaned', 'message', message))
    FROM holder AS h
    LEFT JOIN tenure.worker AS w ON w.id = h.worker_id
    JOIN tenant.job AS j ON j.worker_id = h.worker_id AND j.state = 'running'
    WHERE j.id > last AND (ids IS NULL OR j.id = ANY (ids))
      AND (w.dead_at IS NOT NULL
           OR (w.id IS NULL AND j.started_at < moment - orphan_after)
           OR (dry_run AND w.expires_at < moment - grace))
    ORDER BY j.id LIMIT n;
END $$;
