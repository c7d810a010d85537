-- Tell webhooks that a cancellation record was closed: every process of the stop is confirmed to be gone,
-- or the record says what is not.
CREATE OR REPLACE FUNCTION tenant.announce_record(stop bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    PERFORM tenant.write_deliveries('stop.closed', c.job_id, l.task, jsonb_build_object(
        'tenant', '{tenant}', 'job_id', c.job_id, 'task', l.task,
        'cancellation_id', tenant.cancellation_name(c.id, c.intent), 'intent', c.intent,
        'status', c.status, 'reason', c.reason, 'initiated_by', c.initiated_by,
        'initiated_at', c.initiated_at, 'completed_at', c.completed_at, 'error', c.error,
        'jobs', (SELECT count(*) FROM tenant.member AS m WHERE m.stop_id = c.id)))
    FROM tenant.cancellation AS c
    LEFT JOIN tenant.job AS j ON j.id = c.job_id LEFT JOIN tenant.lane AS l ON l.id = j.lane
    WHERE c.id = stop;
END $$;
