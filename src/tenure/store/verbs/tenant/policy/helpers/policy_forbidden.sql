-- Return the refusal if the caller may not create, change or drop this policy, as the answer of the verb;
-- null if it may. Policies belong to admins; an operator may have policies for single jobs of its own. A
-- policy that an admin has changed belongs to admins from then on.
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
