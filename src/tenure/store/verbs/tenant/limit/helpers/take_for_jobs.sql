-- Take a call of a locked limit for each of the started jobs that names it, and store its state.
CREATE OR REPLACE FUNCTION tenant.take_for_jobs(l tenure.open_limit, started bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    takers bigint[];
BEGIN
    takers := ARRAY(SELECT j.id FROM tenant.job AS j WHERE j.id = ANY (started) AND l.name = ANY (j.limits));
    IF l.levels ? 'calls' THEN
        l.levels := l.levels || jsonb_build_object('calls',
            (l.levels ->> 'calls')::numeric - cardinality(takers));
    END IF;
    IF l.at_once IS NOT NULL THEN
        INSERT INTO tenant.limit_grant (job_id, number, name, amounts, at)
        SELECT t, 0, l.name, '{"calls": 1}', l.at FROM unnest(takers) AS t;
        l.running := l.running + cardinality(takers);
    END IF;
    PERFORM tenant.save_limit(l);
END $$;
