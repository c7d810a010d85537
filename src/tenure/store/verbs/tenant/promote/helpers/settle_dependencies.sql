-- Advance new and dependent jobs: to the next thing they wait for, to failed, or not at all.
--
-- All dependencies of a new job are checked. Of a job that is known to wait, only those are checked that
-- ended and left a wake; otherwise the last of a thousand would be checked a thousand times.
CREATE OR REPLACE FUNCTION tenant.settle_dependencies(ids bigint[], wakes tenant.wake[], now_ts timestamptz)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    -- By primary key only; see conclude.
    settling CONSTANT bigint[] := ARRAY(SELECT j.id FROM tenant.job AS j
        WHERE j.id = ANY (ids) AND j.waiting::text IN ('promotion', 'dependencies'));
    whole    CONSTANT bigint[] := ARRAY(SELECT j.id FROM tenant.job AS j WHERE j.id = ANY (settling)
        AND (j.waiting::text = 'promotion'
            OR j.id = ANY (ARRAY(SELECT w.job_id FROM unnest(wakes) AS w WHERE w.needed IS NULL))));
    edges    tid[];
    doomed   jsonb;
    unmet    bigint[];
    lanes    integer[];
BEGIN
    -- By primary key each: as a join, a plan from when the table was small read the whole table.
    edges := ARRAY(
        SELECT e.ctid FROM tenant.edge AS e WHERE e.job_id = ANY (whole)
        UNION ALL
        SELECT e.ctid FROM unnest(wakes) AS w CROSS JOIN LATERAL unnest(w.needed) AS n(id)
        CROSS JOIN LATERAL (
            SELECT o.ctid FROM tenant.edge AS o WHERE o.job_id = w.job_id AND o.needs_id = n.id LIMIT 1) AS e
        WHERE w.job_id = ANY (settling) AND w.job_id <> ALL (whole));
    DELETE FROM tenant.edge AS e WHERE e.ctid = ANY (edges) AND coalesce((
        SELECT n.state = 'completed' OR (e.policy = 'run' AND n.ended_at IS NOT NULL)
        FROM tenant.job AS n WHERE n.id = e.needs_id), true);
    SELECT coalesce(jsonb_object_agg(e.job_id,
        format('job %s, which it comes after, is %s', e.needs_id, n.state)), '{}') INTO doomed
    FROM tenant.edge AS e
    CROSS JOIN LATERAL (SELECT n.state, n.ended_at FROM tenant.job AS n WHERE n.id = e.needs_id LIMIT 1) AS n
    WHERE e.ctid = ANY (edges) AND e.policy = 'fail' AND n.ended_at IS NOT NULL;
    PERFORM tenant.fail_pending(ARRAY(SELECT k::bigint FROM jsonb_object_keys(doomed) AS k), now_ts,
        'DependencyFailed', doomed);

    unmet := ARRAY(SELECT s.id FROM unnest(settling) AS s(id)
        WHERE (SELECT true FROM tenant.edge AS e WHERE e.job_id = s.id LIMIT 1));
    WITH settled AS (
        UPDATE tenant.job AS j SET
            waiting = CASE WHEN j.id = ANY (unmet) THEN 'dependencies'
                ELSE tenure.waiting_for(j.run_at, now_ts, j.target) END,
            ready = j.id <> ALL (unmet) AND tenure.waiting_for(j.run_at, now_ts, j.target) IS NULL,
            run_at = greatest(j.run_at, now_ts),
            position = t.position
        FROM (SELECT o.id, nextval('tenant.activity') AS position
            FROM (SELECT unnest(settling) AS id ORDER BY 1) AS o) AS t
        WHERE j.id = t.id AND j.state = 'pending'
          AND NOT (j.waiting::text = 'dependencies' AND j.id = ANY (unmet))
        RETURNING j.lane, j.target, j.waiting, j.ready
    ), lined AS (
        INSERT INTO tenant.wake (target) SELECT DISTINCT s.target FROM settled AS s WHERE s.waiting = 'target'
    )
    SELECT array_agg(DISTINCT s.lane) FILTER (WHERE s.ready) INTO lanes FROM settled AS s;
    PERFORM tenant.notify_lanes(lanes);
END $$;
