-- Create or change a policy: a rule that stops jobs while it is enabled.
--
-- "spec" is {"filter": ..., "when": ..., "intent": "cancel" or "pause", "strategy": ..., "reason": ...}: of
-- the jobs in the filter (as in list_jobs), those are stopped for which all conditions hold. An operator
-- may create one for a single job of its own ({"filter": {"id": ...}}).
CREATE OR REPLACE FUNCTION tenant.set_policy(
    name text, spec jsonb, enabled boolean DEFAULT true, by text DEFAULT NULL, via text DEFAULT 'sql',
    role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    actor    CONSTANT text := tenure.actor(by);
    is_admin CONSTANT boolean := tenant.role_of(role) = 'admin';
    whose    CONSTANT text := CASE WHEN NOT is_admin THEN actor END;
    problem  CONSTANT text := tenant.policy_error(spec);
    refusal  json;
    before   tenant.policy;
    written  tenant.policy;
BEGIN
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = problem;
    ELSIF coalesce(name, '') = '' OR length(name) > {policy.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            'a policy has a name of 1 to {policy.max} characters';
    ELSIF name IN ('timeout', 'memory', 'deadline', 'budget', 'preemption') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('what stops jobs by itself is called %L already; give the policy another name',
                name);
    END IF;
    IF name ~ '^(cancel|pause)-at:'
        AND name <> format('%s-at:%s', coalesce(spec ->> 'intent', 'cancel'), spec #>> '{filter,id}') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
            'a policy called %L stops that job and nothing else; give this one another name', name);
    END IF;
    refusal := tenant.policy_forbidden('set_policy', name, spec, actor, by, via, role);
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF spec #> '{filter,id}' IS NOT NULL
        AND NOT EXISTS (SELECT FROM tenant.job AS j WHERE j.id = (spec #>> '{filter,id}')::bigint) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN002',
            MESSAGE = format('there is no job %s', spec #>> '{filter,id}');
    END IF;
    PERFORM tenant.strategy_options(spec ->> 'strategy');
    spec := '{"filter": {}, "intent": "cancel"}' || jsonb_strip_nulls(spec);
    -- Policies of operators are counted separately: they do not use up those of admins.
    IF (SELECT count(*) FROM tenant.policy AS p
            WHERE p.name <> set_policy.name AND (p.whose IS NULL) = is_admin) >= {policies.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
            'a tenant has at most {policies.max} policies of %s',
            CASE WHEN is_admin THEN 'its admins' ELSE 'all its operators' END);
    ELSIF NOT is_admin AND (SELECT count(*) FROM tenant.policy AS p
            WHERE p.name <> set_policy.name AND p.whose = actor) >= {policies_per_operator.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
            '%s has {policies_per_operator.max} policies, and an operator has no more; drop one first',
            actor);
    END IF;
    SELECT p.* INTO before FROM tenant.policy AS p WHERE p.name = set_policy.name FOR UPDATE;
    INSERT INTO tenant.policy AS p (name, spec, enabled, created_at, created_by, whose)
    VALUES (set_policy.name, set_policy.spec, coalesce(set_policy.enabled, true), tenure.now(), actor, whose)
    ON CONFLICT ON CONSTRAINT policy_pkey DO UPDATE SET spec = excluded.spec, enabled = excluded.enabled,
        whose = excluded.whose, checked_at = NULL, last_error = NULL
    -- Another caller may have created it since the check above.
    WHERE excluded.whose IS NULL OR p.whose = excluded.whose
    RETURNING p.* INTO written;
    IF NOT FOUND THEN
        RETURN tenant.forbidden('set_policy', 'admin', 'policy', name, by, via, role);
    END IF;
    PERFORM tenant.write_audit(actor, via, 'set', 'policy', written.name, NULL,
        CASE WHEN before.name IS NOT NULL
            THEN jsonb_build_object('spec', before.spec, 'enabled', before.enabled) END,
        jsonb_build_object('spec', written.spec, 'enabled', written.enabled));
    PERFORM nextval('tenant.activity');  -- workers enforce it
    RETURN to_json(written);
END $$;
