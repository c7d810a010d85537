-- Resume a paused or failed job: from its checkpoint, or "fresh" from the start.
--
-- What was paused with it is resumed with it; so are the failed children of a job without code of its own.
-- It keeps its place in its target and gets fresh retries. A failed ancestor is open again. A "budget"
-- replaces the limits it names; a job that has spent all of its budget needs a larger one.
CREATE OR REPLACE FUNCTION tenant.resume(
    job bigint, fresh boolean DEFAULT false, reason text DEFAULT NULL, by text DEFAULT NULL,
    via text DEFAULT 'sql', role text DEFAULT NULL, budget jsonb DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    refusal CONSTANT json := tenant.forbidden('resume', 'operator', 'job', resume.job::text, by, via, role);
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    PERFORM tenant.resume_job(resume.job, fresh, reason, tenure.actor(by), via, budget);
    RETURN tenant.show(resume.job);
END $$;
