-- Return the jobs of a call as drafts, with shared fields and defaults filled in; refuse one that cannot be
-- read, or is not valid.
CREATE OR REPLACE FUNCTION tenant.drafts(jobs jsonb, shared jsonb) RETURNS tenure.draft[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    n       CONSTANT integer := jsonb_array_length(jobs);
    drafts  tenure.draft[];
    problem text;
BEGIN
    IF shared <> '{}' THEN
        problem := tenure.draft_type_error(shared);
        IF problem IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a job of the call ' || problem;
        END IF;
    END IF;
    FOR place IN 1 .. n LOOP
        problem := tenure.draft_type_error(jobs -> (place - 1));
        IF problem IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
                format('job number %s of the call %s', place, problem);
        END IF;
    END LOOP;
    IF n = 1 THEN
        drafts := ARRAY[tenure.with_defaults(shared || (jobs -> 0))];  -- needs no query
    ELSE
        drafts := ARRAY(SELECT j FROM jsonb_populate_recordset(tenure.with_defaults(shared), jobs) AS j);
    END IF;
    FOR place IN 1 .. n LOOP
        problem := tenure.validation_error(drafts[place]);
        IF problem IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('%s %s',
                coalesce('job ' || quote_literal(left(drafts[place].key, 100)),
                    'job number ' || place || ' of the call'), problem);
        END IF;
    END LOOP;
    RETURN drafts;
END $$;
