-- Pause a queue, a target, a pool or the whole tenant: none of its jobs is started until it is resumed.
-- Pause a schedule: it enqueues no jobs until it is resumed.
CREATE OR REPLACE FUNCTION tenant.pause_dispatch(
    subject text, name text DEFAULT '', reason text DEFAULT NULL, by text DEFAULT NULL,
    via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    refusal CONSTANT json := tenant.forbidden('pause_dispatch', 'admin', subject, name, by, via, role);
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF coalesce(subject, '') NOT IN ('queue', 'target', 'pool', 'schedule', 'tenant')
        OR (subject = 'tenant') <> (coalesce(name, '') = '') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'what is paused is a queue, a target, a pool or a schedule with its '
                'name, or the tenant without one';
    ELSIF length(name) > {queue.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            format('the name of a %s has at most {queue.max} characters', subject);
    END IF;
    IF subject = 'target' THEN
        -- Exclude a promote that has checked for a pause and found none.
        PERFORM pg_advisory_xact_lock(tenant.target_class(), hashtext(name));
    END IF;
    INSERT INTO tenant.pause (subject, name, paused_at, paused_by, reason)
    VALUES (pause_dispatch.subject, pause_dispatch.name, tenure.now(), actor, pause_dispatch.reason)
    ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RETURN json_build_object('paused', false);
    END IF;
    -- A job that was already next in line waits again, in its place.
    UPDATE tenant.job AS j SET ready = false, waiting = 'target'
    WHERE pause_dispatch.subject = 'target' AND j.target = pause_dispatch.name AND j.holds AND j.ready;
    PERFORM tenant.write_audit(actor, via, 'pause', pause_dispatch.subject, pause_dispatch.name,
        pause_dispatch.reason, '{"paused": false}', '{"paused": true}');
    RETURN json_build_object('paused', true);
END $$;
