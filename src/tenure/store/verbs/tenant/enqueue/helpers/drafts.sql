-- Return the jobs of a call as drafts, with shared fields and defaults filled in; refuse one that cannot be
-- read.
CREATE OR REPLACE FUNCTION tenant.drafts(jobs jsonb, shared jsonb) RETURNS tenure.draft[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    job     jsonb;
    problem text;
BEGIN
    IF shared <> '{}' THEN
        problem := tenure.draft_type_error(shared);
        IF problem IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a job of the call ' || problem;
        END IF;
    END IF;
    FOR place IN 0 .. jsonb_array_length(jobs) - 1 LOOP
        job := jobs -> place;
        problem := tenure.draft_type_error(job);
        IF problem IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
                format('job number %s of the call %s', place + 1, problem);
        END IF;
    END LOOP;
    RETURN ARRAY(
        SELECT j FROM jsonb_populate_recordset(
            tenure.with_defaults(shared), jobs) AS j);
EXCEPTION WHEN data_exception THEN
    RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
        'a job of the call has a run_at or a delay that cannot be read (%s); give a time such as '
        '"2030-01-31T12:00:00Z", or a length of time such as "20s"', left(SQLERRM, 200));
END $$;
