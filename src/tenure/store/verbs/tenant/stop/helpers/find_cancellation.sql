-- Return the id of a record by its name, or of the latest record of a job.
CREATE OR REPLACE FUNCTION tenant.find_cancellation(name text, job bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stop bigint := CASE WHEN name IS NOT NULL THEN tenant.cancellation_id(name) ELSE (
        -- "OFFSET 0": else the newest members of all jobs are read until one is of this job.
        SELECT max(m.stop_id) FROM (SELECT o.stop_id FROM tenant.member AS o
            WHERE o.job_id = find_cancellation.job AND o.was <> 'completed' OFFSET 0) AS m) END;
BEGIN
    IF NOT EXISTS (SELECT FROM tenant.cancellation AS c
                   WHERE c.id = stop
                     AND (name IS NULL OR name = tenant.cancellation_name(c.id, c.intent))) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006', MESSAGE = CASE WHEN name IS NULL
            THEN format('job %s was never stopped', coalesce(job::text, 'without an id'))
                ELSE format('there is no cancellation %s', name) END;
    END IF;
    RETURN stop;
END $$;
