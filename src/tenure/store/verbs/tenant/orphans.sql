-- Running jobs after this id whose worker is dead, or unknown for too long, as outcomes to conclude.
-- A dry run also shows those whose worker's lease is over but who is not declared dead yet.
CREATE OR REPLACE FUNCTION tenant.orphans(
    last bigint, grace interval, orphan_after interval, ids bigint[], dry_run boolean, message text, n integer
) RETURNS SETOF jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    moment CONSTANT timestamptz := tenure.now();
BEGIN
    RETURN QUERY
    -- Who holds anything, one probe each, and who of them is dead: the jobs of the living are not read.
    WITH RECURSIVE holder AS (
        (SELECT j.worker_id FROM tenant.job AS j WHERE j.state = 'running' ORDER BY j.worker_id LIMIT 1)
        UNION ALL
        SELECT (SELECT j.worker_id FROM tenant.job AS j WHERE j.state = 'running' AND j.worker_id > holder.worker_id
                ORDER BY j.worker_id LIMIT 1)
        FROM holder WHERE holder.worker_id IS NOT NULL
    ), suspect AS MATERIALIZED (
        SELECT h.worker_id, w.id IS NULL AS unknown
        FROM holder AS h LEFT JOIN tenure.worker AS w ON w.id = h.worker_id
        WHERE h.worker_id IS NOT NULL
          AND (w.id IS NULL OR w.dead_at IS NOT NULL OR (dry_run AND w.expires_at < moment - grace))
    )
    SELECT jsonb_build_object('job', j.id, 'token', j.token, 'worker', s.worker_id, 'outcome', 'expired', 'rung', 'expired',
        'error', jsonb_build_object('type', 'Orphaned', 'message', message))
    FROM suspect AS s
    CROSS JOIN LATERAL (
        -- "+ 0": by what the worker holds, never by a walk along the primary key.
        SELECT h.id, h.token FROM tenant.job AS h
        WHERE h.worker_id = s.worker_id AND h.state = 'running' AND h.id + 0 > last AND (ids IS NULL OR h.id = ANY (ids))
          AND (NOT s.unknown OR h.started_at < moment - orphan_after)
        ORDER BY h.id + 0 LIMIT n) AS j
    ORDER BY j.id LIMIT n;
END $$;
