-- Why whoever asks may not make, change or drop this policy, as the answer of the verb; null: they may.
-- Policies are an admin's; an operator has those for a single job of its own. One that an admin has changed
-- is the admin's from then on.
CREATE OR REPLACE FUNCTION tenant.policy_forbidden(
    verb text, policy text, spec jsonb, actor text, by text, via text, role text
) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF tenant.role_of(role) = 'operator' AND NOT EXISTS (
            SELECT FROM tenant.policy AS p WHERE p.name = policy AND p.whose IS DISTINCT FROM actor) THEN
        IF spec #> '{filter,id}' IS NOT NULL THEN
            RETURN tenant.forbidden(verb, 'operator', 'job', spec #>> '{filter,id}', by, via, role);
        END IF;
    END IF;
    RETURN tenant.forbidden(verb, 'admin', 'policy', policy, by, via, role);
END $$;
