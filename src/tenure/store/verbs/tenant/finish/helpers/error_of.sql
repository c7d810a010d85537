-- Return the error to keep with a job whose attempt ended this way.
CREATE OR REPLACE FUNCTION tenant.error_of(outcome text, error jsonb, state tenure.state, yields boolean,
    job bigint) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF state = 'failed' AND (yields OR outcome = 'stopped') AND tenant.overrun(job) IS NOT NULL THEN
        RETURN jsonb_build_object('type', 'BudgetExceeded', 'message', tenant.overrun(job));
    ELSIF error IS NOT NULL THEN
        RETURN error;
    ELSIF state = 'failed' AND outcome = 'stopped' THEN
        RETURN '{"type": "Cancelled", "message": "it ended as cancelled, but no stop was requested"}';
    ELSIF outcome = 'crashed' THEN
        RETURN '{"type": "Crashed", "message": "the process that ran the job died"}';
    END IF;
    RETURN NULL;
END $$;
