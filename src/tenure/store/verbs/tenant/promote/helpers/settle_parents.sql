-- Advance jobs that wait for their children: end them by rule, or make them ready to continue.
--
-- A job without code of its own is completed when all its children are, failed when one failed, and
-- cancelled when one was cancelled and none failed. A job that is being stopped ends as the stop demands
-- when none of its descendants runs any more.
CREATE OR REPLACE FUNCTION tenant.settle_parents(ids bigint[], now_ts timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    done    bigint[];
    failed  bigint[];
    parents bigint[];
    lanes   integer[];
BEGIN
    WITH parent AS MATERIALIZED (
        -- By primary key only; see conclude.
        SELECT g.id, g.waiting, tenant.lives_below(g.id) AS open FROM tenant.job AS g
        WHERE g.id = ANY (ids) AND g.waiting::text IN ('tasks', 'children') AND g.stop_id IS NULL
    ), family AS MATERIALIZED (
        SELECT g.id, g.waiting, g.open, c.any, c.failed, c.cancelled
        FROM parent AS g CROSS JOIN LATERAL (
            -- Their states are read once, when all have ended.
            SELECT count(*) > 0 AS any,
                coalesce(bool_or(c.state = 'failed'), false) AS failed,
                coalesce(bool_or(c.state = 'cancelled'), false) AS cancelled
            FROM tenant.job AS c WHERE c.parent_id = g.id AND NOT g.open) AS c
    ), over AS (
        UPDATE tenant.job AS j SET state = CASE
            WHEN f.cancelled THEN 'cancelled' ELSE 'completed' END::tenure.state,
            waiting = NULL, ended_at = now_ts
        FROM family AS f WHERE j.id = f.id AND f.waiting = 'tasks' AND f.any AND NOT f.open AND NOT f.failed
        RETURNING j.id, j.parent_id
    ), woken AS (
        UPDATE tenant.job AS j SET waiting = r.reason, ready = r.reason IS NULL, run_at = now_ts,
            position = CASE WHEN r.reason IS NULL THEN nextval('tenant.activity') ELSE j.position END
        FROM family AS f, LATERAL (SELECT tenure.waiting_for(now_ts, now_ts,
            (SELECT t.target FROM tenant.job AS t WHERE t.id = f.id)) AS reason) AS r
        WHERE j.id = f.id AND f.waiting = 'children' AND NOT f.open
        RETURNING j.lane, j.target, j.waiting, j.ready
    ), lined AS (
        INSERT INTO tenant.wake (target) SELECT w.target FROM woken AS w WHERE w.waiting = 'target'
    )
    SELECT (SELECT array_agg(o.id) FROM over AS o),
        (SELECT array_agg(DISTINCT o.parent_id) FILTER (WHERE o.parent_id IS NOT NULL) FROM over AS o),
        (SELECT array_agg(f.id) FROM family AS f WHERE f.waiting = 'tasks' AND NOT f.open AND f.failed),
        (SELECT array_agg(DISTINCT w.lane) FILTER (WHERE w.ready) FROM woken AS w)
    INTO done, parents, failed, lanes;
    PERFORM tenant.fail_pending(failed, now_ts, 'TaskFailed', (
        SELECT jsonb_object_agg(f.parent_id, f.message) FROM (
            SELECT c.parent_id, format('%s of its children failed, the first of them job %s', count(*),
                min(c.id)) AS message
            FROM tenant.job AS c WHERE c.parent_id = ANY (failed) AND c.state = 'failed'
            GROUP BY c.parent_id) AS f));
    PERFORM tenant.release_holds(done, done, parents, NULL);
    PERFORM tenant.notify_lanes(lanes);
END $$;
