-- Recover orphans one by one, when one of them prevents the others. What cannot be recovered is recorded as
-- an event, and is tried again by the next sweep.
CREATE OR REPLACE FUNCTION tenant.recover_each(orphans jsonb) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    orphan   jsonb;
    answer   json;
    accepted jsonb := '{}';
    busy     jsonb := '[]';
    failed   jsonb := '[]';
BEGIN
    FOR orphan IN SELECT value FROM jsonb_array_elements(orphans) LOOP
        BEGIN
            answer := tenant.conclude(jsonb_build_array(orphan), NULL, recovering => true);
            accepted := accepted || (
                SELECT coalesce(jsonb_object_agg(a.key, coalesce(accepted -> a.key, '[]') || a.value::jsonb),
                '{}')
                FROM json_each(answer -> 'accepted') AS a);
            busy := busy || (answer -> 'busy')::jsonb;
        EXCEPTION WHEN OTHERS THEN
            failed := failed || (orphan -> 'job');
            INSERT INTO tenant.event (at, kind, job_id, worker_id, detail)
            VALUES (tenure.now(), 'recover_failed', (orphan ->> 'job')::bigint, (orphan ->> 'worker')::uuid,
                jsonb_build_object('error', SQLERRM));
        END;
    END LOOP;
    RETURN json_build_object('accepted', accepted, 'busy', busy, 'failed', failed);
END $$;
