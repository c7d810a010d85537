-- Enqueue a new job with the arguments and options of an old one, in whatever state that is. A job whose
-- task was not announced has no options of its own: the new one gets those that are declared by now.
--
-- With "from_step" the new job has the values of the steps that the old one did before that step; "steps"
-- replaces values. With "steps" alone it has all values.
CREATE OR REPLACE FUNCTION tenant.rerun(
    job bigint, reason text DEFAULT NULL, by text DEFAULT NULL, via text DEFAULT 'sql',
    role text DEFAULT NULL, from_step text DEFAULT NULL, steps jsonb DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    new     bigint;
    refusal CONSTANT json := tenant.forbidden('rerun', 'operator', 'job', rerun.job::text, by, via, role);
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    IF steps IS NOT NULL AND jsonb_typeof(steps) <> 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'steps is a JSON object: {"step": value, ...}';
    END IF;
    new := tenant.rerun_job(rerun.job, reason, tenure.actor(by), via);
    IF from_step IS NOT NULL OR steps IS NOT NULL THEN
        PERFORM tenant.copy_steps(rerun.job, new, from_step, steps);
    END IF;
    RETURN tenant.show(new);
END $$;
