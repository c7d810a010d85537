-- Record a refusal and return it as an answer. It is an answer and not an error, so that the row is
-- committed.
--
-- The first hundred refusals of an actor within an hour have an audit row each; one more row counts all
-- further ones of this hour. So refusals cannot fill the audit log, and none is lost from the count. The
-- row of the actor is locked until the caller commits, so that no refusal is missed.
CREATE OR REPLACE FUNCTION tenant.refused(
    verb text, subject text, name text, actor text, via text, why text
) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    earlier CONSTANT timestamptz := now_ts - interval '1 hour';
    counted tenant.refusal;
BEGIN
    INSERT INTO tenant.refusal AS r (actor, since, seen) VALUES (refused.actor, now_ts, 1)
    ON CONFLICT ON CONSTRAINT refusal_pkey DO UPDATE SET
        since = CASE WHEN r.since > earlier THEN r.since ELSE now_ts END,
        seen = CASE WHEN r.since > earlier THEN r.seen + 1 ELSE 1 END,
        audit_id = CASE WHEN r.since > earlier THEN r.audit_id END
    RETURNING r.* INTO counted;
    IF counted.seen <= 100 THEN
        PERFORM tenant.write_audit(actor, left(via, {via.max}), 'refuse', subject,
            left(coalesce(name, ''), {queue.max}),
            left(why, {reason.max}), NULL, jsonb_build_object('verb', left(verb, {verb.max})));
        RETURN json_build_object('forbidden', why);
    END IF;
    UPDATE tenant.audit AS a
    SET after = jsonb_build_object('verb', left(refused.verb, {verb.max}), 'count', counted.seen - 100,
        'until', now_ts)
    WHERE a.id = counted.audit_id;
    IF NOT FOUND THEN
        INSERT INTO tenant.audit AS a (at, actor, via, verb, subject, name, reason, after)
        VALUES (now_ts, refused.actor, left(refused.via, {via.max}), 'refuse', 'tenant', '',
            format('%s was refused 100 times within an hour; further refusals are counted here',
                refused.actor),
            jsonb_build_object('verb', left(refused.verb, {verb.max}), 'count', counted.seen - 100,
                'until', now_ts))
        RETURNING a.id INTO counted.audit_id;
        UPDATE tenant.refusal AS r SET audit_id = counted.audit_id WHERE r.actor = refused.actor;
    END IF;
    RETURN json_build_object('forbidden', why);
END $$;
