-- Add jobs to a stop: jobs that have not started end at once, running jobs are marked and their workers
-- notified.
--
-- A job waits, marked, while a descendant runs, so that it is not reported as cancelled too early. A pause
-- does not undo a cancel. Without a record (the parent was cancelled by rule) jobs are just cancelled.
CREATE OR REPLACE FUNCTION tenant.stop_members(stop bigint, ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    record  tenant.cancellation;
    ends    tenure.state;
    done    bigint[];
    parents bigint[];
    targets text[];
    above   bigint[] := '{}';  -- these have running descendants
    orders  jsonb;     -- for the workers
BEGIN
    SELECT c.* INTO record FROM tenant.cancellation AS c WHERE c.id = stop;
    orders := tenant.stop_orders(record);
    ends := CASE WHEN record.intent = 'pause' THEN 'paused' ELSE 'cancelled' END;

    -- By primary key only, here and below; see conclude.
    IF cardinality(ids) > 1 THEN
        above := tenant.ancestors_of(ARRAY(
            SELECT r.id FROM tenant.job AS r WHERE r.id = ANY (ids) AND r.state::text = 'running'));
    END IF;

    -- The rows are locked, so what is read here still holds below.
    IF stop IS NOT NULL THEN
        INSERT INTO tenant.member (stop_id, job_id, was, became, worker_id, token, ended_at)
        SELECT stop, j.id, j.state, b.became, j.worker_id, j.token,
            CASE WHEN b.became IS NOT NULL THEN now_ts END
        FROM tenant.job AS j
        CROSS JOIN LATERAL (SELECT CASE
            WHEN j.state = 'completed' THEN j.state
            WHEN tenant.ends_at_once(j.state, ends, j.id = ANY (above)) THEN ends END AS became) AS b
        WHERE j.id = ANY (ids) AND j.state IN ('pending', 'running', 'paused', 'completed')
          AND NOT (j.state = 'paused' AND ends = 'paused')
        ON CONFLICT DO NOTHING;
    END IF;

    WITH ended AS (
        UPDATE tenant.job AS j SET
            state = ends, waiting = NULL, ready = false, stop_id = stop,
            ended_at = CASE WHEN ends = 'cancelled' THEN now_ts END,
            holds = j.holds AND ends = 'paused' AND j.blocks_paused,
            blocks = j.target IS NOT NULL AND ends = 'paused' AND j.blocks_paused
        WHERE j.id = ANY (ids)
          AND tenant.ends_at_once(j.state, ends, j.id = ANY (above))
        RETURNING j.id, j.parent_id, j.target, j.holds
    ), marked AS (
        UPDATE tenant.job AS j SET stop_id = stop, ready = false,
            waiting = CASE WHEN j.state = 'pending'
                THEN CASE WHEN j.waiting = 'tasks' THEN j.waiting ELSE 'children' END END
        WHERE j.id = ANY (ids) AND stop IS NOT NULL
          AND (j.state::text = 'running' OR (j.state IN ('pending', 'paused') AND j.id = ANY (above)))
          AND NOT (j.state = 'paused' AND ends = 'paused')
          AND NOT (ends = 'paused'
              AND EXISTS (SELECT FROM tenant.cancellation AS c
              WHERE c.id = j.stop_id AND c.intent = 'cancel'))
        RETURNING j.id, j.worker_id, j.token
    ), signalled AS (
        INSERT INTO tenure.signal (worker_id, tenant, job_id, token, orders, created_at)
        SELECT m.worker_id, '{tenant}', m.id, m.token, orders, now_ts
        FROM marked AS m WHERE m.worker_id IS NOT NULL
        RETURNING signal.worker_id
    ), noticed AS (
        SELECT pg_notify('tenure_' || t.worker_id, 'orders')
        FROM (SELECT DISTINCT t.worker_id FROM signalled AS t) AS t
    )
    SELECT array_agg(e.id), array_agg(DISTINCT e.parent_id) FILTER (WHERE e.parent_id IS NOT NULL),
        array_agg(DISTINCT e.target) FILTER (WHERE e.target IS NOT NULL AND NOT e.holds),
        (SELECT count(*) FROM noticed)
    INTO done, parents, targets FROM ended AS e;
    IF done IS NULL THEN
        RETURN;
    END IF;
    -- Another stop may have waited for them, and may be complete now.
    WITH others AS (
        UPDATE tenant.member AS m SET became = ends, ended_at = now_ts
        WHERE m.job_id = ANY (done) AND m.became IS NULL
        RETURNING m.stop_id
    )
    INSERT INTO tenant.wake (stop_id) SELECT DISTINCT o.stop_id FROM others AS o;
    IF ends = 'cancelled' THEN
        DELETE FROM tenant.edge AS e WHERE e.job_id = ANY (done);
        PERFORM tenant.release_holds(done, done, parents, targets);
    ELSE
        PERFORM tenant.release_holds(done, NULL, parents, targets);
    END IF;
END $$;
