-- End stopped jobs without running code of their own when none of their descendants runs any more.
CREATE OR REPLACE FUNCTION tenant.end_stopped_parents(ids bigint[], now_ts timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    done    bigint[];
    ended   bigint[];
    parents bigint[];
    targets text[];
BEGIN
    WITH over AS (
        UPDATE tenant.job AS j SET
            state = CASE s.intent WHEN 'cancel' THEN 'cancelled' ELSE 'paused' END::tenure.state,
            waiting = NULL, ready = false,
            ended_at = CASE s.intent WHEN 'cancel' THEN now_ts END,
            holds = j.holds AND s.intent = 'pause' AND j.blocks_paused,
            blocks = j.target IS NOT NULL AND s.intent = 'pause' AND j.blocks_paused
        FROM tenant.cancellation AS s
        WHERE j.id = ANY (ids) AND s.id = j.stop_id
          AND (j.state = 'pending' OR (j.state = 'paused' AND s.intent = 'cancel'))
          -- Last: without CASE, or without the stop in it, this was evaluated for every job.
          AND CASE WHEN j.stop_id IS NOT NULL
              AND j.state IN ('pending', 'paused') THEN NOT tenant.runs_below(j.id) END
        RETURNING j.id, j.parent_id, j.state, j.target, j.holds
    ), members AS (
        UPDATE tenant.member AS m SET became = (SELECT o.state FROM over AS o WHERE o.id = m.job_id),
            ended_at = now_ts
        WHERE m.job_id = ANY (ARRAY(SELECT o.id FROM over AS o)) AND m.became IS NULL
        RETURNING m.stop_id
    ), records AS (
        INSERT INTO tenant.wake (stop_id) SELECT DISTINCT m.stop_id FROM members AS m
    )
    SELECT array_agg(o.id), array_agg(o.id) FILTER (WHERE o.state = 'cancelled'),
        array_agg(DISTINCT o.parent_id) FILTER (WHERE o.parent_id IS NOT NULL),
        array_agg(DISTINCT o.target) FILTER (WHERE o.target IS NOT NULL AND NOT o.holds)
    INTO done, ended, parents, targets FROM over AS o;
    PERFORM tenant.release_holds(done, ended, parents, targets);
END $$;
