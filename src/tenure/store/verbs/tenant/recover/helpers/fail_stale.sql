-- Fail jobs that were never started; jobs that cannot be failed are recorded as events, and returned.
CREATE OR REPLACE FUNCTION tenant.fail_stale(stale bigint[], pending_after interval, message text)
RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    why     CONSTANT text := concat_ws('; ', message, format('%sno worker started it within %s',
                CASE WHEN message IS NULL THEN 'orphan: ' END, pending_after));
    next_id bigint;
    failed  jsonb := '[]';
BEGIN
    PERFORM tenant.fail_pending(stale, tenure.now(), 'Orphaned',
        (SELECT jsonb_object_agg(s, why) FROM unnest(stale) AS s));
    RETURN failed;
EXCEPTION WHEN OTHERS THEN
    FOREACH next_id IN ARRAY stale LOOP
        BEGIN
            PERFORM tenant.fail_pending(ARRAY[next_id], tenure.now(),
                'Orphaned', jsonb_build_object(next_id, why));
        EXCEPTION WHEN OTHERS THEN
            failed := failed || to_jsonb(next_id);
            INSERT INTO tenant.event (at, kind, job_id, detail)
            VALUES (tenure.now(), 'recover_failed', next_id, jsonb_build_object('error', SQLERRM));
        END;
    END LOOP;
    RETURN failed;
END $$;
