-- End the database sessions in which a job has its own transaction open, with whatever they are doing: for
-- a worker that kills the job, because a statement continues when its client is dead. Return how many.
CREATE OR REPLACE FUNCTION tenant.end_session(worker uuid, job bigint, token bigint) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    ended integer;
BEGIN
    SELECT count(*) INTO ended FROM (
        SELECT pg_terminate_backend(a.pid) AS sent FROM pg_stat_activity AS a
        WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
          AND a.application_name = tenant.session_name(end_session.job, end_session.token) OFFSET 0) AS e
    WHERE e.sent;
    IF ended > 0 THEN
        INSERT INTO tenant.event (at, kind, job_id, worker_id, detail)
        VALUES (tenure.now(), 'session_ended', end_session.job, end_session.worker,
            jsonb_build_object('sessions', ended));
    END IF;
    RETURN json_build_object('ended', ended);
END $$;
