-- Make jobs ready whose time has come, or the deadline of their wait, or move them into their target's
-- line.
CREATE OR REPLACE FUNCTION tenant.promote_due(n integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    lanes  integer[];
    moved  integer;
BEGIN
    WITH promoted AS (
        UPDATE tenant.job AS j SET
            waiting = tenure.waiting_for(now_ts, now_ts, j.target),
            ready = j.target IS NULL,
            position = CASE WHEN j.target IS NULL THEN nextval('tenant.activity') ELSE j.position END
        WHERE coalesce(j.waiting IN ('time', 'event', 'answer'), false) AND j.ctid = ANY (ARRAY(
            SELECT d.ctid FROM tenant.job AS d
            WHERE d.waiting IN ('time', 'event', 'answer') AND d.run_at <= now_ts
            ORDER BY d.run_at LIMIT n FOR UPDATE SKIP LOCKED))
        RETURNING j.target, j.lane, j.ready
    ), woken AS (
        INSERT INTO tenant.wake (target) SELECT DISTINCT p.target FROM promoted AS p
        WHERE p.target IS NOT NULL
    )
    SELECT count(*), array_agg(DISTINCT p.lane) FILTER (WHERE p.ready) INTO moved, lanes FROM promoted AS p;
    PERFORM tenant.notify_lanes(lanes);
    RETURN moved;
END $$;
