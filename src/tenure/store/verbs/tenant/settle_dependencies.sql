-- Newly come or dependent jobs: on to the next thing they wait for, failed, or still waiting.
CREATE OR REPLACE FUNCTION tenant.settle_dependencies(ours bigint[], moment timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    settling CONSTANT bigint[] := ARRAY(SELECT j.id FROM tenant.job AS j
        WHERE j.id = ANY (ours) AND j.waiting IN ('promotion', 'dependencies'));
    doomed  jsonb;
    unmet   bigint[];
    lanes   integer[];
BEGIN
    -- By primary key each: as a join, a plan from when the table was small read all of it.
    DELETE FROM tenant.edge AS e WHERE e.job_id = ANY (settling) AND coalesce((
        SELECT n.state = 'completed' OR (e.policy = 'run' AND n.ended_at IS NOT NULL)
        FROM tenant.job AS n WHERE n.id = e.needs_id), true);
    SELECT coalesce(jsonb_object_agg(e.job_id, format('job %s, which it comes after, is %s', e.needs_id, n.state)), '{}') INTO doomed
    FROM tenant.edge AS e
    CROSS JOIN LATERAL (SELECT n.state, n.ended_at FROM tenant.job AS n WHERE n.id = e.needs_id LIMIT 1) AS n
    WHERE e.job_id = ANY (settling) AND e.policy = 'fail' AND n.ended_at IS NOT NULL;
    PERFORM tenant.fail_pending(ARRAY(SELECT k::bigint FROM jsonb_object_keys(doomed) AS k), moment, 'DependencyFailed', doomed);

    unmet := ARRAY(SELECT DISTINCT e.job_id FROM tenant.edge AS e WHERE e.job_id = ANY (settling));
    WITH settled AS (
        UPDATE tenant.job AS j SET
            waiting = CASE WHEN j.id = ANY (unmet) THEN 'dependencies' ELSE tenure.waiting_for(j.run_at, moment, j.target) END,
            ready = j.id <> ALL (unmet) AND tenure.waiting_for(j.run_at, moment, j.target) IS NULL,
            run_at = greatest(j.run_at, moment),
            turn = t.turn
        FROM (SELECT o.id, nextval('tenant.turn') AS turn FROM (SELECT unnest(settling) AS id ORDER BY 1) AS o) AS t
        WHERE j.id = t.id AND j.state = 'pending'
        RETURNING j.lane, j.target, j.waiting, j.ready
    ), lined AS (
        INSERT INTO tenant.wake (target) SELECT DISTINCT s.target FROM settled AS s WHERE s.waiting = 'target'
    )
    SELECT array_agg(DISTINCT s.lane) FILTER (WHERE s.ready) INTO lanes FROM settled AS s;
    PERFORM tenant.notify_lanes(lanes);
END $$;
