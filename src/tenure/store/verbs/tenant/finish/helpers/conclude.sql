-- End attempts with any outcome. Simple completions may have been handled before (complete_plainly); a job
-- leaves "running" in no third way.
--
-- The fence is (worker, token) of a running job, and the worker must not have been declared dead; only
-- recover acts for dead workers, and it names the worker in each outcome.
--
-- A stop changes an outcome that arrives after it. A job that received the stop ends as the stop demands,
-- whatever it reports, and its return value is kept as its last partial result. A job that did not receive
-- it keeps its result or its final failure. A retry, a crash and a release always give way. A job that is
-- over its budget ends failed, not paused or cancelled, unless the budget itself pauses it. A stopped job
-- with running descendants waits for them, so that it is not reported as cancelled too early.
--
-- A suspect is a job that ran when its runner or its worker died, if any of several jobs may have caused
-- that: it is released without spending an attempt, a crash is counted, and it runs alone next. A job that
-- is charged with such a death also runs alone, if it is tried again. An attempt whose code never began
-- changes nothing: it clears no suspicion and is not recorded. A job that was displaced, because its runner
-- had to end for another job, runs alone when that happens again.
CREATE OR REPLACE FUNCTION tenant.conclude(outcomes jsonb, worker uuid, recovering boolean DEFAULT false)
RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{plain_index_scans} SET jit = off AS $$
DECLARE
    now_ts  timestamptz;
    batch   record;    -- the jobs whose attempts ended, and what follows from that
    stops   bigint[];  -- the records of stopped jobs among them
    missing json;
BEGIN
    IF recovering = (worker IS NOT NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'the worker whose attempt ends must be given';
    ELSIF NOT recovering THEN
        PERFORM FROM tenure.worker AS w WHERE w.id = worker AND w.dead_at IS NULL FOR KEY SHARE SKIP LOCKED;
        IF NOT FOUND THEN
            RETURN tenant.refused_outcomes(outcomes, worker, '{}', '{}', EXISTS (
                SELECT FROM tenure.worker AS w WHERE w.id = worker AND w.dead_at IS NULL));
        END IF;
    END IF;
    now_ts := tenure.now();

    WITH reports AS MATERIALIZED (
        SELECT t.*, coalesce(conclude.worker, t.worker) AS held_by
        FROM jsonb_to_recordset(outcomes) AS t(job bigint, token bigint, worker uuid, outcome text,
            value jsonb, stored text,
            error jsonb, run_at timestamptz, intent text, rung tenure.rung, heard boolean, runner text,
            cleanup jsonb, until tenure.reason, suspect boolean, displaced boolean, unstarted boolean,
            pids integer[], processes integer, reached jsonb, waited double precision)
    ), held AS MATERIALIZED (
        SELECT t.*, j.ctid AS place, j.stop_id, j.attempt, j.max_attempts, j.orphan_fails, j.crashes,
               j.target AS job_target, t.outcome = 'released'
                   OR (t.outcome = 'expired' AND t.suspect IS TRUE AND NOT j.orphan_fails) AS unspent,
               CASE WHEN t.waited > 0 THEN least(j.started_at + make_interval(secs => t.waited), now_ts)
                   ELSE j.started_at END AS started_at, s.intent AS asked,
               coalesce(s.intent = 'pause' AND s.initiated_by = 'policy:budget', false) AS paused_by_budget,
               s.id IS NOT NULL AND (t.outcome NOT IN ('completed', 'failed') OR t.heard IS TRUE) AS yields
        FROM reports AS t
        CROSS JOIN LATERAL (
            -- By primary key only: the cast hides the index of held jobs, which the planner chose because
            -- its statistics say that it is empty, and which was quadratic in the batch.
            SELECT h.ctid, h.* FROM tenant.job AS h
            WHERE h.id = t.job AND h.state::text = 'running' AND h.worker_id = t.held_by AND h.token = t.token
            LIMIT 1 FOR UPDATE SKIP LOCKED) AS j
        LEFT JOIN tenant.cancellation AS s ON s.id = j.stop_id
    ), decided AS MATERIALIZED (
        SELECT h.*, CASE
            WHEN h.yields AND h.overrun THEN 'failed'
            WHEN h.yields AND h.shared THEN 'pending'
            WHEN h.yields THEN CASE h.asked WHEN 'cancel' THEN 'cancelled' ELSE 'paused' END
            WHEN h.outcome = 'completed' THEN 'completed'
            WHEN h.outcome = 'stopped'
            AND h.intent = 'pause' THEN CASE WHEN h.overrun THEN 'failed' ELSE 'paused' END
            WHEN h.unspent THEN 'pending'
            WHEN h.outcome IN ('failed', 'stopped') OR h.attempt >= h.max_attempts
                OR (h.outcome = 'expired' AND h.orphan_fails) THEN 'failed'
            ELSE 'pending' END::tenure.state AS becomes
        FROM (SELECT h.*, (h.stop_id IS NOT NULL OR h.outcome = 'stopped') AND NOT h.paused_by_budget
            AND EXISTS (SELECT FROM tenant.spent)  -- else there is no need to ask for each job
            AND tenant.overrun(h.job) IS NOT NULL AS overrun, h.yields
            AND (SELECT true FROM tenant.job AS c WHERE c.parent_id = h.job LIMIT 1) IS TRUE
            AND tenant.runs_below(h.job) AS shared
              FROM held AS h OFFSET 0) AS h  -- "OFFSET 0": else both functions are called at each use
    ), moved AS (
        UPDATE tenant.job AS j SET
            state = d.becomes,
            worker_id = NULL,
            started_at = d.started_at,
            attempt = j.attempt - (d.unspent AND d.becomes = 'pending' AND NOT d.yields)::integer,
            alone = d.outcome IN ('crashed', 'expired') OR (d.outcome = 'released' AND (d.suspect IS TRUE
                OR (j.alone AND d.unstarted IS TRUE)
                OR (d.displaced IS TRUE AND tenant.was_displaced(j.id)))),
            crashes = j.crashes + (d.outcome IN ('crashed', 'expired')
                OR (d.outcome = 'released' AND d.suspect IS TRUE))::integer,
            run_at = CASE WHEN d.becomes <> 'pending' THEN j.run_at
                WHEN d.outcome = 'retry' THEN coalesce(d.run_at, now_ts)
                -- The deadline of the wait; without one it is never due.
                WHEN d.outcome = 'released' AND d.until IN ('event', 'answer')
                    THEN coalesce(d.run_at, {run_at.latest})
                WHEN d.outcome = 'released' THEN coalesce(d.run_at, j.run_at) ELSE j.run_at END,
            ended_at = CASE WHEN d.becomes IN ('completed', 'failed', 'cancelled') THEN now_ts END,
            stop_id = CASE WHEN d.becomes IN ('cancelled', 'paused') OR d.yields
                AND d.becomes = 'pending' THEN j.stop_id END,
            holds = j.holds AND tenant.keeps_target(d.becomes, j.blocks_paused, j.blocks_failed),
            blocks = j.target IS NOT NULL
                AND tenant.keeps_target(d.becomes, j.blocks_paused, j.blocks_failed), waiting = w.reason,
            ready = d.becomes = 'pending' AND w.reason IS NULL
        FROM decided AS d
        CROSS JOIN LATERAL (SELECT CASE
            WHEN d.becomes <> 'pending' THEN NULL
            WHEN d.yields THEN 'children'
            WHEN d.outcome = 'released' AND d.until IS NOT NULL THEN d.until
            WHEN d.outcome IN ('retry', 'released')
                THEN tenure.waiting_for(coalesce(d.run_at, now_ts), now_ts, d.job_target)
            ELSE tenure.waiting_for(now_ts, now_ts, d.job_target) END AS reason) AS w
        WHERE j.ctid = d.place
        RETURNING j.id, j.state, j.parent_id, j.target, j.holds, j.waiting, j.ready, j.lane, d.*
    ), kept AS (
        INSERT INTO tenant.outcome AS o (job_id, result, result_artifact, error, cleanup, noted_at)
        SELECT m.id, CASE WHEN m.state = 'completed' THEN m.value END,
            CASE WHEN m.state = 'completed' THEN m.stored END,
            CASE WHEN m.state <> 'completed'
                THEN tenant.error_of(m.outcome, m.error, m.state, m.yields, m.id) END, m.cleanup, now_ts
        FROM moved AS m
        WHERE (m.value IS NOT NULL OR m.stored IS NOT NULL OR m.error IS NOT NULL OR m.cleanup IS NOT NULL
           OR m.attempt > 1 OR m.crashes > 0 OR m.outcome IN ('crashed', 'expired') OR m.state = 'failed')
          AND NOT (m.unstarted IS TRUE AND m.state = 'pending')
        ON CONFLICT (job_id) DO UPDATE SET
            result = excluded.result, result_artifact = excluded.result_artifact,
            error = excluded.error, noted_at = excluded.noted_at,
            cleanup = coalesce(excluded.cleanup, o.cleanup),
            -- A job that pauses itself again asks for another value.
            resume_value = CASE WHEN excluded.error ->> 'type' IS DISTINCT FROM 'tenure.Pause'
                THEN o.resume_value END
    ), partials AS (
        INSERT INTO tenant.partial (job_id, token, at, value)
        SELECT m.id, m.token, now_ts, m.value FROM moved AS m
        WHERE m.value IS NOT NULL AND m.state <> 'completed'
    ), tried AS (
        INSERT INTO tenant.attempt (job_id, token, attempt, worker_id, started_at, ended_at, outcome, rung,
            error)
        SELECT m.id, m.token, m.attempt, m.held_by, m.started_at, now_ts,
            CASE WHEN m.yields THEN 'stopped' WHEN m.displaced IS TRUE THEN 'displaced' ELSE m.outcome END,
            m.rung, m.error
        FROM moved AS m WHERE (m.state <> 'completed' OR m.attempt > 1)
          AND NOT (m.unstarted IS TRUE AND m.state = 'pending')
    )
    SELECT
        (SELECT json_object_agg(s.state, s.ids) FROM (
            SELECT m.state, json_agg(m.id) AS ids FROM moved AS m GROUP BY m.state) AS s) AS accepted,
        array_agg(m.id) AS done,
        array_agg(m.token) AS tokens,
        array_agg(m.id) FILTER (WHERE m.state NOT IN ('pending', 'paused')) AS ended,
        array_agg(DISTINCT m.parent_id) FILTER (WHERE m.parent_id IS NOT NULL
            AND (m.state <> 'pending' OR m.stop_id IS NOT NULL)) AS parents,
        array_agg(DISTINCT m.target) FILTER (WHERE m.target IS NOT NULL
            AND (m.waiting = 'target' OR NOT m.holds)) AS targets,
        array_agg(m.id) FILTER (WHERE m.stop_id IS NOT NULL) AS stopped,
        array_agg(m.id) FILTER (WHERE m.waiting IN ('children', 'event', 'answer')) AS waiting,
        array_agg(DISTINCT m.lane) FILTER (WHERE m.ready) AS lanes,
        jsonb_object_agg(m.id, jsonb_build_object('became', CASE WHEN m.state <> 'pending' THEN m.state END,
            'rung', m.rung, 'runner', m.runner, 'reached', m.reached, 'pids', m.pids,
            'processes', m.processes, 'error', CASE WHEN m.cleanup @? '$.failed[*]'
                THEN 'could not clean up: ' || (m.cleanup -> 'failed')::text END))
            FILTER (WHERE m.stop_id IS NOT NULL) AS ends,
        coalesce(bool_or(m.waiting IN ('time', 'event', 'answer')), false) AS later
    INTO batch FROM moved AS m;

    IF jsonb_array_length(outcomes) > coalesce(cardinality(batch.done), 0) THEN
        missing := tenant.refused_outcomes(outcomes, worker, batch.done, batch.tokens, true);
    END IF;
    IF batch.stopped IS NOT NULL THEN
        -- In a statement of its own, which sees the members of a stop that was committed after the one above
        -- began, and left the row of a job as it was because another stop holds it already. It has no join:
        -- the planner had each job of the batch compared with all open members.
        WITH ended AS (
            UPDATE tenant.member AS b SET
                (became, ended_at, rung, runner, reached, pids, processes, error) = (
                    SELECT e.became, CASE WHEN e.became IS NOT NULL THEN now_ts END, e.rung,
                        coalesce(e.runner, b.runner), b.reached || coalesce(e.reached, '{}'),
                        coalesce(e.pids, b.pids), coalesce(e.processes, b.processes), e.error
                    FROM jsonb_to_record(batch.ends -> b.job_id::text) AS e(became tenure.state,
                        rung tenure.rung, runner text, reached jsonb, pids integer[], processes integer,
                        error text)),
                slots = ARRAY(SELECT s.pool || '/' || s.name FROM tenant.slot AS s WHERE s.job_id = b.job_id
                    ORDER BY 1)
            WHERE b.job_id = ANY (batch.stopped) AND b.became IS NULL
            RETURNING b.stop_id
        ), records AS (
            INSERT INTO tenant.wake (stop_id) SELECT DISTINCT e.stop_id FROM ended AS e RETURNING wake.stop_id
        )
        SELECT array_agg(r.stop_id) INTO stops FROM records AS r;
        -- The last of its attempts has ended; parents and dependents may still be open.
        UPDATE tenant.cancellation AS c SET status = 'updating_tasks'
        WHERE c.id = ANY (ARRAY(SELECT o.id FROM tenant.cancellation AS o WHERE o.id = ANY (stops)
                AND o.completed_at IS NULL FOR NO KEY UPDATE SKIP LOCKED))
          AND (SELECT true FROM tenant.member AS m
              WHERE m.stop_id = c.id AND m.ended_at IS NULL AND m.worker_id IS NOT NULL LIMIT 1) IS NULL;
        DELETE FROM tenure.signal AS s WHERE s.tenant = '{tenant}' AND s.job_id = ANY (batch.stopped);
        PERFORM tenant.notify_watchers(stops);
    END IF;
    PERFORM tenant.close_inspections(batch.done);
    PERFORM tenant.notify_lanes(batch.lanes);
    PERFORM tenant.notify_readers(batch.done);
    IF batch.later THEN
        PERFORM nextval('tenant.activity');  -- workers learn when its time comes
    END IF;
    RETURN json_build_object(
        'accepted', coalesce(batch.accepted, '{}'),
        'refused', coalesce(missing -> 'refused', '[]'),
        'repeated', coalesce(missing -> 'repeated', '[]'),
        'busy', coalesce(missing -> 'busy', '[]'),
        'wakes', tenant.release_holds(batch.done, batch.ended, batch.parents || batch.waiting, batch.targets)
            OR batch.stopped IS NOT NULL);
END $$;
