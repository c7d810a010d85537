-- Resume a job for a caller that may; see resume.
CREATE OR REPLACE FUNCTION tenant.resume_job(
    job bigint, fresh boolean, reason text, actor text, via text, budget jsonb DEFAULT NULL,
    value jsonb DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    now_ts    timestamptz;
    chosen    tenant.job;
    below     bigint[];
    above     bigint[];
    holder    bigint;
    lanes     integer[];
    overspent text;
BEGIN
    PERFORM tenant.lock_tree(ARRAY[resume_job.job]);
    SELECT j.* INTO chosen FROM tenant.job AS j WHERE j.id = resume_job.job;
    IF chosen.state IS NULL OR chosen.state NOT IN ('paused', 'failed')
            OR EXISTS (SELECT FROM tenant.cancellation AS c
                WHERE c.id = chosen.stop_id AND c.intent = 'cancel') THEN
        PERFORM tenant.refuse_verb(resume_job.job, 'resume');
    END IF;
    WITH RECURSIVE up AS (
        SELECT j.* FROM tenant.job AS j WHERE j.id = chosen.parent_id
        UNION ALL SELECT j.* FROM up JOIN tenant.job AS j ON j.id = up.parent_id
    )
    SELECT array_agg(up.id),
        max(up.id) FILTER (WHERE up.state IN ('paused', 'cancelled') OR up.stop_id IS NOT NULL)
    INTO above, holder FROM up;
    IF holder IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('cannot resume a job below job %s, which is %s', holder,
            (SELECT j.status FROM tenant.jobs AS j WHERE j.id = holder));
    END IF;

    WITH RECURSIVE down AS (
        SELECT resume_job.job AS id
        UNION ALL SELECT c.id FROM down CROSS JOIN LATERAL (
            SELECT j.id FROM tenant.job AS j WHERE j.parent_id = down.id OFFSET 0) AS c
    )
    SELECT array_agg(j.id) INTO below FROM down JOIN tenant.job AS j ON j.id = down.id
    WHERE j.id = resume_job.job OR (j.state = 'paused' AND j.stop_id = chosen.stop_id)
       OR (j.state = 'failed' AND (SELECT l.task FROM tenant.lane AS l WHERE l.id = chosen.lane) IS NULL);
    PERFORM tenant.lock_tree(below);
    SELECT k.id INTO holder FROM tenant.job AS j JOIN tenant.job AS k
        ON k.unique_key = j.unique_key AND k.id <> j.id AND k.state IN ('pending', 'running', 'paused')
    WHERE j.id = ANY (below) AND j.state = 'failed' LIMIT 1;
    IF holder IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN004',
            MESSAGE = format('job %s has taken the unique key in the meantime', holder);
    END IF;
    IF resume_job.budget IS NOT NULL THEN
        PERFORM tenant.raise_budget(resume_job.job, resume_job.budget);
    END IF;
    overspent := tenant.overrun(resume_job.job);
    IF overspent IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003', MESSAGE = format(
            'cannot resume job %s: %s; resume it with a larger budget', resume_job.job, overspent);
    END IF;
    now_ts := tenure.now();

    WITH resumed AS (
        UPDATE tenant.job AS j SET
            state = 'pending', attempt = 0, crashes = 0, alone = false, stop_id = NULL, ended_at = NULL,
            run_at = CASE WHEN j.run_at IS NULL OR (j.run_at > now_ts AND NOT r.asks) THEN j.run_at
                ELSE now_ts END,
            blocks = j.holds, waiting = r.reason, ready = r.reason IS NULL,
            position = CASE WHEN r.reason IS NULL THEN nextval('tenant.activity') ELSE j.position END
        FROM (SELECT o.id, CASE
                WHEN l.task IS NULL THEN 'tasks'
                WHEN o.run_at IS NULL THEN 'unqueued'
                WHEN EXISTS (SELECT FROM tenant.unannounced AS u WHERE u.job_id = o.id) THEN 'task'
                WHEN EXISTS (SELECT FROM tenant.edge AS e WHERE e.job_id = o.id) THEN 'promotion'
                ELSE tenure.waiting_for(
                    CASE WHEN a.asks THEN now_ts ELSE greatest(o.run_at, now_ts) END, now_ts,
                    CASE WHEN NOT o.holds OR EXISTS (
                    SELECT FROM tenant.pause AS p WHERE p.subject = 'target' AND p.name = o.target)
                    THEN o.target END) END::tenure.reason AS reason, a.asks
              FROM tenant.job AS o JOIN tenant.lane AS l ON l.id = o.lane
              -- Paused at a wait: its code looks again whether that is over.
              CROSS JOIN LATERAL (SELECT NOT fresh AND EXISTS (SELECT FROM tenant.job_step AS s
                  WHERE s.job_id = o.id AND s.kind IN ('event', 'question')
                    AND coalesce(s.due_at, {run_at.latest}) = o.run_at) AS asks) AS a
              WHERE o.id = ANY (below)) AS r
        WHERE j.id = r.id
        RETURNING j.id, j.lane, j.target, j.waiting, j.ready
    ), woken AS (
        INSERT INTO tenant.wake (job_id, target)
        SELECT CASE WHEN r.waiting <> 'target' THEN r.id END, CASE WHEN r.waiting = 'target' THEN r.target END
        FROM resumed AS r WHERE r.waiting IN ('promotion', 'target', 'tasks')
        -- A paused job behind the head closed the target; the line may continue.
        UNION SELECT NULL, r.target FROM resumed AS r WHERE r.target IS NOT NULL
    ), cleared AS (
        UPDATE tenant.outcome AS o SET error = NULL, checkpoint = CASE WHEN NOT fresh THEN o.checkpoint END,
            progress = CASE WHEN NOT fresh THEN o.progress END, noted_at = now_ts,
            resume_value = CASE WHEN NOT fresh THEN o.resume_value END
        WHERE o.job_id = ANY (below || above)
    ), reopened AS (
        UPDATE tenant.job AS j SET state = 'pending', waiting = 'tasks', ended_at = NULL
        FROM tenant.lane AS l WHERE j.id = ANY (above) AND j.state = 'failed' AND l.id = j.lane
            AND l.task IS NULL
    )
    SELECT array_agg(DISTINCT r.lane) INTO lanes FROM resumed AS r;
    IF fresh THEN
        DELETE FROM tenant.job_step AS s WHERE s.job_id = ANY (below);
    END IF;
    IF value IS NOT NULL THEN
        INSERT INTO tenant.outcome AS o (job_id, resume_value, noted_at)
        VALUES (resume_job.job, value, now_ts)
        ON CONFLICT (job_id) DO UPDATE SET resume_value = excluded.resume_value;
    END IF;
    UPDATE tenant.unannounced AS u SET task = u.given ->> 'task' WHERE u.job_id = ANY (below);
    PERFORM tenant.write_audit(actor, via, 'resume', 'job', resume_job.job::text, reason,
        jsonb_build_object('state', chosen.state), jsonb_build_object('fresh', fresh, 'jobs', to_jsonb(below))
            || CASE WHEN resume_job.budget IS NULL THEN '{}'
                ELSE jsonb_build_object('budget', resume_job.budget) END
            || CASE WHEN value IS NULL THEN '{}' ELSE jsonb_build_object('value', value) END);
    PERFORM tenant.notify_lanes(lanes);
    PERFORM nextval('tenant.activity');  -- workers learn when its time comes
EXCEPTION WHEN unique_violation THEN
    RAISE EXCEPTION USING ERRCODE = 'TN004',
        MESSAGE = format('another job has taken the unique key of job %s in the meantime', resume_job.job);
END $$;
