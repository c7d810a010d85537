-- Take a slot from the job that holds it.
CREATE OR REPLACE FUNCTION tenant.release_slot(
    pool text, slot text, reason text DEFAULT NULL, by text DEFAULT NULL, via text DEFAULT 'sql',
    role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    refusal CONSTANT json := tenant.forbidden('release_slot', 'admin', 'pool', pool, by, via, role);
    was     tenant.slot;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    SELECT s.* INTO was FROM tenant.slot AS s WHERE s.pool = release_slot.pool AND s.name = release_slot.slot
    FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006',
            MESSAGE = format('there is no slot %L in pool %L', slot, pool);
    ELSIF EXISTS (SELECT FROM tenant.job AS j WHERE j.id = was.job_id AND j.state::text = 'running') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('job %s is running with this slot; stop it first', was.job_id);
    END IF;
    UPDATE tenant.slot AS s SET job_id = NULL, held_at = NULL
    WHERE s.pool = release_slot.pool AND s.name = release_slot.slot;
    PERFORM tenant.write_audit(tenure.actor(by), via, 'release', 'pool', pool, reason, to_jsonb(was), NULL);
    PERFORM tenant.notify_idle(
        ARRAY(SELECT DISTINCT l.queue FROM tenant.lane AS l WHERE release_slot.pool = ANY (l.pools)));
    RETURN tenant.pools(pool) -> 0;
END $$;
