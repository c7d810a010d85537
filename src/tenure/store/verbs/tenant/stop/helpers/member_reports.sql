-- Return members of a stop as users read them: all, or these jobs.
CREATE OR REPLACE FUNCTION tenant.member_reports(stop bigint, jobs bigint[] DEFAULT NULL) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (
        SELECT jsonb_agg(jsonb_build_object('job_id', m.job_id, 'was', m.was, 'became', m.became,
            'rung', m.rung,
            'worker_id', m.worker_id, 'runner', m.runner, 'pids', coalesce(to_jsonb(m.pids), '[]'),
            'processes', m.processes, 'reached', m.reached, 'ended_at', m.ended_at, 'error', m.error,
            'cleanup', CASE WHEN m.ended_at IS NOT NULL
                THEN (SELECT o.cleanup FROM tenant.outcome AS o WHERE o.job_id = m.job_id) END)
            ORDER BY m.job_id)
        FROM tenant.member AS m WHERE m.stop_id = stop AND (jobs IS NULL OR m.job_id = ANY (jobs)));
END $$;
