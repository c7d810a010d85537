-- Close a record by hand: partial when a kill or a cleanup could not be confirmed, failed when a state
-- update failed after all retries (workers use fail_records). Cancelling again reopens a failed record.
CREATE OR REPLACE FUNCTION tenant.close_record(cancellation text, status text, error text DEFAULT NULL)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stop CONSTANT bigint := tenant.cancellation_id(close_record.cancellation);
BEGIN
    PERFORM FROM tenant.cancellation AS c WHERE c.id = stop AND c.completed_at IS NULL FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('there is no open cancellation %s', close_record.cancellation);
    ELSIF close_record.status NOT IN ('completed', 'partial', 'failed') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('a cancellation is closed as completed, partial or failed; %L is none of these',
                close_record.status);
    ELSIF close_record.status = 'completed'
        AND EXISTS (SELECT FROM tenant.member AS m WHERE m.stop_id = stop AND m.ended_at IS NULL) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('%s is not complete: a member of it is still being stopped',
                close_record.cancellation);
    END IF;
    PERFORM tenant.end_record(stop, close_record.status, left(close_record.error, {problem.max}));
    RETURN tenant.cancellation_report(stop);
END $$;
