-- Return the refusal if the caller may not do this, as the answer of the verb; null if it may. The refusal
-- is recorded.
--
-- "needed" is the lowest role allowed. Verbs of an operator reach only its own jobs: the subject "job" is
-- named by its id. An owner never changes, so nothing is locked for this check. A job that the caller may
-- not see is not found.
CREATE OR REPLACE FUNCTION tenant.forbidden(
    verb text, needed text, subject text, name text, by text, via text, role text
) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    actor CONSTANT text := tenure.actor(by);
    has   CONSTANT text := tenant.role_of(role);
    owner text;
BEGIN
    IF has = 'admin' THEN
        RETURN NULL;
    ELSIF has = 'viewer' OR needed = 'admin' THEN
        RETURN tenant.refused(verb, subject, name, actor, via,
            format('%s is %s and may not %s; an %s may', actor,
            CASE has WHEN 'viewer' THEN 'a viewer' ELSE 'an operator' END, replace(verb, '_', ' '), needed));
    ELSIF subject = 'job' THEN
        owner := (SELECT p.owner FROM tenant.payload AS p WHERE p.job_id = forbidden.name::bigint);
        IF owner <> actor THEN
            IF NOT tenant.can_see_all_jobs() THEN
                RAISE EXCEPTION USING ERRCODE = 'TN002', MESSAGE = format('there is no job %s', name);
            END IF;
            RETURN tenant.refused(verb, subject, name, actor, via,
                format('job %s belongs to %s; only %s or an admin may %s it', name, owner, owner,
                    replace(verb, '_', ' ')));
        END IF;
    END IF;
    RETURN NULL;
END $$;
