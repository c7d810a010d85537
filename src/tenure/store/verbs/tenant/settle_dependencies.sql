-- Newly come or dependent jobs: on to the next thing they wait for, failed, or still waiting.
CREATE OR REPLACE FUNCTION tenant.settle_dependencies(ours bigint[], moment timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    lanes   integer[];
    doomed  bigint[];
BEGIN
    -- What failed, was cancelled or completed is met, fatal or waited for, as the edge says.
    DELETE FROM tenant.edge AS e USING tenant.job AS j, tenant.job AS o
    WHERE e.job_id = ANY (ours) AND o.id = e.job_id AND o.waiting IN ('promotion', 'dependencies') AND j.id = e.needs_id
      AND (j.state = 'completed' OR (e.policy = 'run' AND j.state IN ('failed', 'cancelled')));
    doomed := ARRAY(SELECT DISTINCT e.job_id FROM tenant.edge AS e JOIN tenant.job AS j ON j.id = e.needs_id
        WHERE e.job_id = ANY (ours) AND e.policy = 'fail' AND j.state IN ('failed', 'cancelled'));
    PERFORM tenant.fail_pending(doomed, moment, 'DependencyFailed',
        (SELECT jsonb_object_agg(b.id, b.message) FROM (
            SELECT e.job_id AS id, format('job %s, which it comes after, is %s', min(j.id), min(j.state::text)) AS message
            FROM tenant.edge AS e JOIN tenant.job AS j ON j.id = e.needs_id
            WHERE e.job_id = ANY (doomed) AND j.state IN ('failed', 'cancelled') GROUP BY e.job_id) AS b));

    WITH settled AS (
        UPDATE tenant.job AS j SET
            waiting = s.reason, ready = s.reason IS NULL,
            run_at = CASE WHEN s.reason IS NULL THEN moment ELSE j.run_at END,
            turn = CASE WHEN s.reason IS NULL THEN nextval('tenant.turn') ELSE j.turn END
        FROM (SELECT o.id, CASE WHEN EXISTS (SELECT FROM tenant.edge AS e WHERE e.job_id = o.id) THEN 'dependencies'
                    ELSE tenure.waiting_for(o.run_at, moment, o.target) END AS reason
              FROM tenant.job AS o WHERE o.id = ANY (ours)) AS s
        WHERE j.id = s.id AND j.waiting IN ('promotion', 'dependencies')
        RETURNING j.lane, j.target, j.waiting, j.ready
    ), lined AS (
        INSERT INTO tenant.wake (target) SELECT DISTINCT s.target FROM settled AS s WHERE s.waiting = 'target'
    )
    SELECT array_agg(DISTINCT s.lane) FILTER (WHERE s.ready) INTO lanes FROM settled AS s;
    PERFORM tenant.notify_lanes(lanes);
END $$;
