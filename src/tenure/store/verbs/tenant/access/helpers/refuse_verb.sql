-- Refuse a verb that the state of the job does not allow, or a job that does not exist or may not be seen.
CREATE OR REPLACE FUNCTION tenant.refuse_verb(job bigint, verb text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    status text := (SELECT j.status FROM tenant.jobs AS j
        WHERE j.id = refuse_verb.job AND tenant.can_see_job(refuse_verb.job));
BEGIN
    IF status IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN002',
            MESSAGE = format('there is no job %s', coalesce(job::text, 'without an id'));
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'TN003', MESSAGE = format('cannot %s a job that is %s', verb, status);
END $$;
