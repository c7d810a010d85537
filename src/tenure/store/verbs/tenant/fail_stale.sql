-- Fail jobs that nobody started; those that cannot be failed are events, and the answer.
CREATE OR REPLACE FUNCTION tenant.fail_stale(stale bigint[], pending_after interval) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    message CONSTANT text := format('orphan: nobody started it within %s', pending_after);
    one     bigint;
    failed  jsonb := '[]';
BEGIN
    PERFORM tenant.fail_pending(stale, tenure.now(), 'Orphaned', (SELECT jsonb_object_agg(s, message) FROM unnest(stale) AS s));
    RETURN failed;
EXCEPTION WHEN OTHERS THEN
    FOREACH one IN ARRAY stale LOOP
        BEGIN
            PERFORM tenant.fail_pending(ARRAY[one], tenure.now(), 'Orphaned', jsonb_build_object(one, message));
        EXCEPTION WHEN OTHERS THEN
            failed := failed || to_jsonb(one);
            INSERT INTO tenant.event (at, kind, job_id, detail)
            VALUES (tenure.now(), 'recover_failed', one, jsonb_build_object('error', SQLERRM));
        END;
    END LOOP;
    RETURN failed;
END $$;
