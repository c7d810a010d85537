-- End attempts of the most common kind: completed at the first attempt, without a crash, a stop or a
-- cleanup.
--
-- All other outcomes are left to conclude. The fence is the same; the statement is separate because the one
-- that handles every other outcome takes twice as long.
CREATE OR REPLACE FUNCTION tenant.complete_plainly(
    outcomes jsonb, worker uuid, OUT done bigint[], OUT tokens bigint[], OUT wakes boolean
)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    now_ts  timestamptz;
    parents bigint[];
    targets text[];
BEGIN
    done := '{}';
    PERFORM FROM tenure.worker AS w WHERE w.id = worker AND w.dead_at IS NULL FOR KEY SHARE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    now_ts := tenure.now();
    WITH moved AS (
        UPDATE tenant.job AS j SET
            state = 'completed', worker_id = NULL, alone = false, ended_at = now_ts,
            started_at = CASE WHEN d.waited > 0
                THEN least(j.started_at + make_interval(secs => d.waited), now_ts) ELSE j.started_at END,
            holds = false, blocks = false  -- as in keeps_target
        FROM (
            SELECT h.ctid AS place, t.value, t.stored, t.waited
            FROM jsonb_to_recordset(outcomes) AS t(job bigint, token bigint, outcome text, value jsonb,
                stored text, cleanup jsonb, waited double precision)
            CROSS JOIN LATERAL (
                -- By primary key only; see conclude.
                SELECT h.ctid FROM tenant.job AS h
                WHERE h.id = t.job AND h.state::text = 'running' AND h.worker_id = complete_plainly.worker
                  AND h.token = t.token
                  AND h.stop_id IS NULL AND h.attempt = 1 AND h.crashes = 0
                LIMIT 1 FOR UPDATE SKIP LOCKED) AS h
            WHERE t.outcome = 'completed' AND t.cleanup IS NULL
            OFFSET 0) AS d
        WHERE j.ctid = d.place
        RETURNING j.id, j.token, j.parent_id, j.target, d.value, d.stored
    ), kept AS (
        INSERT INTO tenant.outcome AS o (job_id, result, result_artifact, noted_at)
        SELECT m.id, m.value, m.stored, now_ts FROM moved AS m
        WHERE m.value IS NOT NULL OR m.stored IS NOT NULL
        ON CONFLICT (job_id) DO UPDATE SET result = excluded.result, error = NULL,
            result_artifact = excluded.result_artifact, noted_at = excluded.noted_at
    )
    SELECT coalesce(array_agg(m.id), '{}'), array_agg(m.token),
        array_agg(DISTINCT m.parent_id) FILTER (WHERE m.parent_id IS NOT NULL),
        array_agg(DISTINCT m.target) FILTER (WHERE m.target IS NOT NULL)
    INTO done, tokens, parents, targets FROM moved AS m;
    IF done <> '{}' THEN
        PERFORM tenant.close_inspections(done);
        wakes := tenant.release_holds(done, done, parents, targets);
    END IF;
END $$;
