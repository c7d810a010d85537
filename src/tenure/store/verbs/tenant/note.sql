-- One audit row for an action from outside, in the transaction of the action.
CREATE OR REPLACE FUNCTION tenant.note(
    actor text, via text, verb text, subject text, name text, reason text, before jsonb, after jsonb
) RETURNS void
LANGUAGE sql
BEGIN ATOMIC
    INSERT INTO tenant.audit (at, actor, via, verb, subject, name, reason, before, after)
    VALUES (tenure.now(), actor, via, verb, subject, name, reason, before, after);
END;
