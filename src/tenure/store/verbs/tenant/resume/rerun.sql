-- Enqueue a new job with the arguments and options of an old one, in whatever state that is. A job whose
-- task was not announced has no options of its own: the new one gets those that are declared by now.
CREATE OR REPLACE FUNCTION tenant.rerun(
    job bigint, reason text DEFAULT NULL, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    new     bigint;
    refusal CONSTANT json := tenant.forbidden('rerun', 'operator', 'job', rerun.job::text, by, via, role);
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    new := tenant.rerun_job(rerun.job, reason, tenure.actor(by), via);
    RETURN tenant.show(new);
END $$;
