-- Make jobs ready whose event was published or whose question was answered.
CREATE OR REPLACE FUNCTION tenant.settle_waits(ids bigint[], now_ts timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    -- By primary key only; see conclude.
    chosen  CONSTANT bigint[] := ARRAY(SELECT j.id FROM tenant.job AS j
        WHERE j.id = ANY (ids) AND j.waiting::text IN ('event', 'answer') AND j.stop_id IS NULL);
    lanes   integer[];
BEGIN
    IF chosen = '{}' THEN
        RETURN;
    END IF;
    PERFORM tenant.deliver_events(chosen, now_ts);
    WITH woken AS (
        UPDATE tenant.job AS j SET waiting = r.reason, ready = r.reason IS NULL, run_at = now_ts,
            position = CASE WHEN r.reason IS NULL THEN nextval('tenant.activity') ELSE j.position END
        FROM (SELECT o.id, tenure.waiting_for(now_ts, now_ts, o.target) AS reason FROM tenant.job AS o
              WHERE o.id = ANY (chosen) AND NOT EXISTS (
                  SELECT FROM tenant.job_step AS s WHERE s.job_id = o.id AND s.ended_at IS NULL)) AS r
        WHERE j.id = r.id
        RETURNING j.lane, j.target, j.waiting, j.ready
    ), lined AS (
        INSERT INTO tenant.wake (target) SELECT DISTINCT w.target FROM woken AS w WHERE w.waiting = 'target'
    )
    SELECT array_agg(DISTINCT w.lane) FILTER (WHERE w.ready) INTO lanes FROM woken AS w;
    PERFORM tenant.notify_lanes(lanes);
END $$;
