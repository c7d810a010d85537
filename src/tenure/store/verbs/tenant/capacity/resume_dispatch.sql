-- Resume a paused queue, target, pool, schedule or tenant.
CREATE OR REPLACE FUNCTION tenant.resume_dispatch(
    subject text, name text DEFAULT '', reason text DEFAULT NULL, by text DEFAULT NULL,
    via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    refusal CONSTANT json := tenant.forbidden('resume_dispatch', 'admin', subject, name, by, via, role);
    was     tenant.pause;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    DELETE FROM tenant.pause AS p
    WHERE p.subject = resume_dispatch.subject AND p.name = resume_dispatch.name RETURNING p.* INTO was;
    IF NOT FOUND THEN
        RETURN json_build_object('resumed', false);
    END IF;
    INSERT INTO tenant.wake (target) SELECT resume_dispatch.name WHERE resume_dispatch.subject = 'target';
    PERFORM tenant.write_audit(tenure.actor(by), via, 'resume', resume_dispatch.subject, resume_dispatch.name,
        resume_dispatch.reason, to_jsonb(was), '{"paused": false}');
    PERFORM tenant.notify_idle(ARRAY(SELECT DISTINCT l.queue FROM tenant.lane AS l));
    RETURN json_build_object('resumed', true);
END $$;
