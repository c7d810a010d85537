-- Write one audit row for a requested action, in the transaction of the action. Every verb that takes a
-- reason comes through here, so a reason that is too long is refused here, and the action with it.
CREATE OR REPLACE FUNCTION tenant.write_audit(
    actor text, via text, verb text, subject text, name text, reason text, before jsonb, after jsonb
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF length(reason) > {reason.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a reason has at most {reason.max} characters';
    ELSIF length(via) > {via.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = '"via" has at most {via.max} characters';
    ELSIF length(name) > {queue.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            format('the name of a %s has at most {queue.max} characters', subject);
    END IF;
    INSERT INTO tenant.audit (at, actor, via, verb, subject, name, reason, before, after)
    VALUES (tenure.now(), actor, coalesce(via, 'sql'), verb, subject, name, reason, before, after);
END $$;
