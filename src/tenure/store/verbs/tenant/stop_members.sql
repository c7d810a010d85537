-- Bring jobs under a stop: what has not started ends at once, what runs is marked and its worker told.
--
-- A job without running code waits, marked, while anything below it runs: cancelled is never said
-- too early. Without a record (the parent was cancelled by rule) jobs are just cancelled.
CREATE OR REPLACE FUNCTION tenant.stop_members(stop bigint, ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    moment  CONSTANT timestamptz := tenure.now();
    record  tenant.cancellation;
    ends    tenure.state;
    done    bigint[];
    parents bigint[];
    targets text[];
BEGIN
    SELECT c.* INTO record FROM tenant.cancellation AS c WHERE c.id = stop;
    ends := CASE WHEN record.intent = 'pause' THEN 'paused' ELSE 'cancelled' END;

    IF stop IS NOT NULL THEN
        INSERT INTO tenant.member (stop_id, job_id, was, became, worker_id, token, ended_at)
        SELECT stop, j.id, j.state, CASE WHEN j.state = 'completed' THEN j.state END, j.worker_id, j.token,
            CASE WHEN j.state = 'completed' THEN moment END
        FROM tenant.job AS j
        WHERE j.id = ANY (ids) AND j.state IN ('pending', 'running', 'paused', 'completed')
          AND NOT (j.state = 'paused' AND ends = 'paused')
        ON CONFLICT DO NOTHING;
    END IF;

    WITH ended AS (
        UPDATE tenant.job AS j SET
            state = ends, waiting = NULL, ready = false, stop_id = stop,
            ended_at = CASE WHEN ends = 'cancelled' THEN moment END,
            holds = j.holds AND ends = 'paused' AND j.blocks_paused,
            blocks = j.target IS NOT NULL AND ends = 'paused' AND j.blocks_paused
        WHERE j.id = ANY (ids)
          AND ((j.state = 'pending' AND (j.waiting IS NULL OR j.waiting NOT IN ('tasks', 'children') OR stop IS NULL))
               OR (j.state = 'paused' AND ends = 'cancelled'))
        RETURNING j.id, j.parent_id, j.target, j.holds
    ), marked AS (
        UPDATE tenant.job AS j SET stop_id = stop
        WHERE j.id = ANY (ids) AND stop IS NOT NULL
          AND (j.state = 'running' OR (j.state = 'pending' AND j.waiting IN ('tasks', 'children')))
        RETURNING j.id, j.worker_id, j.token
    ), members AS (
        UPDATE tenant.member AS m SET became = ends, ended_at = moment
        FROM ended AS e WHERE m.job_id = e.id AND m.ended_at IS NULL
    ), told AS (
        INSERT INTO tenure.signal (worker_id, tenant, job_id, token, orders, created_at)
        SELECT m.worker_id, '{tenant}', m.id, m.token, tenant.orders(record), moment
        FROM marked AS m WHERE m.worker_id IS NOT NULL
        RETURNING signal.worker_id
    ), noticed AS (
        SELECT pg_notify('tenure_' || t.worker_id, '') FROM (SELECT DISTINCT t.worker_id FROM told AS t) AS t
    )
    SELECT array_agg(e.id), array_agg(DISTINCT e.parent_id) FILTER (WHERE e.parent_id IS NOT NULL),
        array_agg(DISTINCT e.target) FILTER (WHERE e.target IS NOT NULL AND NOT e.holds), (SELECT count(*) FROM noticed)
    INTO done, parents, targets FROM ended AS e;

    IF ends = 'cancelled' THEN
        DELETE FROM tenant.edge AS e WHERE e.job_id = ANY (done);
        PERFORM tenant.let_go(done, done, parents, targets);
    ELSE
        PERFORM tenant.let_go(done, NULL, parents, targets);
    END IF;
END $$;
