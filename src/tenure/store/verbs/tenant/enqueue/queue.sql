-- Queue a job that was created but not queued.
CREATE OR REPLACE FUNCTION tenant.queue(
    job bigint, run_at timestamptz DEFAULT NULL, by text DEFAULT NULL, via text DEFAULT 'sql',
    role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    refusal CONSTANT json := tenant.forbidden('queue', 'operator', 'job', queue.job::text, by, via, role);
    queued  tenant.job;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF NOT queue.run_at BETWEEN {run_at.earliest} AND {run_at.latest} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
            'the run_at of a job lies in the years 1970 to 9999, and %s does not', queue.run_at);
    END IF;
    UPDATE tenant.job AS j SET run_at = coalesce(queue.run_at, now_ts),
        waiting = CASE WHEN EXISTS (SELECT FROM tenant.unannounced AS u WHERE u.job_id = j.id)
            THEN 'task'::tenure.reason ELSE 'promotion' END
    WHERE j.id = queue.job AND j.waiting::text = 'unqueued'
    RETURNING j.* INTO queued;
    IF NOT FOUND THEN
        PERFORM tenant.refuse_verb(queue.job, 'queue');
    END IF;
    INSERT INTO tenant.wake (job_id) VALUES (queue.job);
    PERFORM tenant.write_audit(tenure.actor(by), via, 'queue', 'job', queue.job::text, NULL, NULL,
        jsonb_build_object('run_at', queued.run_at));
    PERFORM tenant.notify_lanes(ARRAY[queued.lane]);
    RETURN tenant.show(queue.job);
END $$;
