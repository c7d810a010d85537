-- Return the id of the job with this key: one of the caller's own if there is any, else one of the only
-- owner who has one. A live job among the last thousand, else the newest. Refused if the key is ambiguous.
CREATE OR REPLACE FUNCTION tenant.job_with_key(
    key text, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    whose  text := tenure.actor(by);
    newest bigint;
    live   bigint[];
BEGIN
    -- Search the caller's own jobs separately: others may have any number of jobs with this key.
    IF NOT EXISTS (SELECT FROM tenant.payload AS p WHERE p.key = job_with_key.key AND p.owner = whose) THEN
        whose := (SELECT p.owner FROM tenant.payload AS p
            WHERE p.key = job_with_key.key AND tenant.can_see_all_jobs()
            ORDER BY p.job_id DESC LIMIT 1);
        IF EXISTS (SELECT FROM tenant.payload AS p WHERE p.key = job_with_key.key AND p.owner <> whose) THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
                'jobs of several owners have the key %L; name the job by its id', key);
        END IF;
    END IF;
    SELECT max(n.id), array_agg(n.id) FILTER (WHERE n.ended_at IS NULL) INTO newest, live FROM (
        SELECT j.id, j.ended_at FROM tenant.payload AS p JOIN tenant.job AS j ON j.id = p.job_id
        WHERE p.key = job_with_key.key AND p.owner = whose ORDER BY p.job_id DESC LIMIT 1000) AS n;
    IF newest IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN002', MESSAGE = format('there is no job with the key %L', key);
    ELSIF cardinality(live) > 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
            'more than one job that is not over has the key %L; name it by its id', key);
    END IF;
    RETURN json_build_object('id', coalesce(live[1], newest));
END $$;
