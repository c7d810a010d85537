-- Return the jobs of a call with what their tasks declare. A job whose task is not announced keeps the
-- given fields in "given", and waits. Tenure's own tasks declare nothing.
CREATE OR REPLACE FUNCTION tenant.declared_jobs(jobs jsonb, shared jsonb) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    whole jsonb[] := '{}';
    job   jsonb;
    known tenure.task;
BEGIN
    FOR place IN 0 .. jsonb_array_length(jobs) - 1 LOOP
        job := (shared || (jobs -> place)) - 'given';
        IF job ->> 'task' <> '' AND NOT starts_with(job ->> 'task', 'tenure.') THEN
            IF known.name IS DISTINCT FROM job ->> 'task' THEN
                known := tenant.known_task(job ->> 'task');
            END IF;
            job := CASE WHEN known.name IS NULL THEN job || jsonb_build_object('given', job)
                ELSE tenure.apply_declaration(job, known) END;
        END IF;
        whole := whole || job;
    END LOOP;
    RETURN to_jsonb(whole);
END $$;
