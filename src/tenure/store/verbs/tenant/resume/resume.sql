-- Resume a paused or failed job: from its checkpoint, or "fresh" from the start.
--
-- What was paused with it is resumed with it; so are the failed children of a job without code of its own.
-- It keeps its place in its target and gets fresh retries. A failed ancestor is open again. A "budget"
-- replaces the limits it names; a job that has spent all of its budget needs a larger one.
--
-- A "value" is given to every attempt of the job until one of them has saved a checkpoint, until the job
-- pauses itself again, or until it is resumed with another value or "fresh".
CREATE OR REPLACE FUNCTION tenant.resume(
    job bigint, fresh boolean DEFAULT false, reason text DEFAULT NULL, by text DEFAULT NULL,
    via text DEFAULT 'sql', role text DEFAULT NULL, budget jsonb DEFAULT NULL,
    value jsonb DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    refusal CONSTANT json := tenant.forbidden('resume', 'operator', 'job', resume.job::text, by, via, role);
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    value := nullif(value, 'null');
    IF pg_column_size(value) > {resume_value.max} OR tenure.json_error(value) IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a value that resumes a job '
            || coalesce('cannot be ' || tenure.json_error(value), 'has at most {resume_value.max} bytes');
    END IF;
    PERFORM tenant.resume_job(resume.job, fresh, reason, tenure.actor(by), via, budget, value);
    RETURN tenant.show(resume.job);
END $$;
