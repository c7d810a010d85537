-- Return running jobs after this id whose worker is dead, or unknown for too long, as outcomes for
-- conclude. A dry run also returns those whose worker's lease has expired but which is not declared dead
-- yet.
--
-- The job that is charged with the death of a worker is chosen as in keeper/suspects.py, by the level of
-- each job that was a suspect before: the only suspect there; a job of level 3 or more; a job of level 2
-- that had just started (30 s before the last beat, or later) with no other just before it, which a living
-- worker would have delayed. All others are suspects now ("suspect").
CREATE OR REPLACE FUNCTION tenant.orphaned_jobs(
    last bigint, grace interval, orphan_after interval, ids bigint[], dry_run boolean, message text, n integer
) RETURNS SETOF jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{plain_index_scans} AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    RETURN QUERY
    -- Workers that hold jobs, one probe each, and those of them that are dead: the jobs of live workers
    -- are not read.
    WITH RECURSIVE holder AS (
        (SELECT j.worker_id FROM tenant.job AS j WHERE j.state = 'running' ORDER BY j.worker_id LIMIT 1)
        UNION ALL
        SELECT (SELECT j.worker_id FROM tenant.job AS j
            WHERE j.state = 'running' AND j.worker_id > holder.worker_id
                ORDER BY j.worker_id LIMIT 1)
        FROM holder WHERE holder.worker_id IS NOT NULL
    ), suspect AS MATERIALIZED (
        SELECT h.worker_id, w.id IS NULL AS unknown, w.beat_at
        FROM holder AS h LEFT JOIN tenure.worker AS w ON w.id = h.worker_id
        WHERE h.worker_id IS NOT NULL
          AND (w.id IS NULL OR w.dead_at IS NOT NULL OR (dry_run AND w.expires_at < now_ts - grace))
    )
    SELECT jsonb_build_object('job', j.id, 'token', j.token, 'worker', s.worker_id, 'outcome', 'expired',
        'rung', 'expired', 'suspect', NOT c.charged, 'error', jsonb_build_object('type', 'Orphaned',
            'message', coalesce(message,
                'orphan: its worker stopped renewing its lease and was declared dead')
                || CASE WHEN j.orphan_fails OR j.stop_id IS NOT NULL THEN ''
                WHEN c.charged THEN '; its worker died while it ran alone'
                ELSE '; it is given back unspent and runs alone next' END))
    FROM suspect AS s
    CROSS JOIN LATERAL (
        -- "+ 0": by the index of held jobs, never by a scan of the primary key.
        SELECT h.* FROM tenant.job AS h
        WHERE h.worker_id = s.worker_id AND h.state = 'running' AND h.id + 0 > last
          AND (ids IS NULL OR h.id = ANY (ids))
          AND (NOT s.unknown OR h.started_at < now_ts - orphan_after)
        ORDER BY h.id + 0 LIMIT n) AS j
    CROSS JOIN LATERAL (SELECT j.alone AND (
        j.crashes - j.attempt >= 2
        OR NOT EXISTS (SELECT FROM tenant.job AS o
            WHERE o.worker_id = s.worker_id AND o.state = 'running' AND o.alone AND o.id <> j.id)
        OR (j.crashes > j.attempt AND coalesce(j.started_at > s.beat_at - interval '30 seconds', false)
            AND NOT EXISTS (SELECT FROM tenant.job AS o
                WHERE o.worker_id = s.worker_id AND o.state = 'running' AND o.alone AND o.id <> j.id
                  AND o.crashes > o.attempt
                  AND o.started_at BETWEEN j.started_at - interval '30 seconds' AND j.started_at))
        ) AS charged) AS c
    ORDER BY j.id LIMIT n;
END $$;
