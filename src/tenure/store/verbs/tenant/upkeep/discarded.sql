-- Record that a worker has deleted these artifacts of a cancelled job; the record of its stop shows it.
-- With an error not all of them could be deleted, and another worker tries again.
CREATE OR REPLACE FUNCTION tenant.discarded(job bigint, urls text[], error text DEFAULT NULL) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    gone integer := 0;
BEGIN
    -- Only artifacts that were listed for deletion: the stop decides, not the caller.
    PERFORM FROM tenant.discard AS d WHERE d.job_id = discarded.job FOR UPDATE;
    IF FOUND THEN
        DELETE FROM tenant.artifact AS a WHERE a.job_id = discarded.job AND a.url = ANY (urls);
        GET DIAGNOSTICS gone = ROW_COUNT;
        UPDATE tenant.step AS s SET details = s.details || jsonb_build_object('artifacts', (
            SELECT count(*) FROM tenant.member AS m JOIN tenant.artifact AS a ON a.job_id = m.job_id
            WHERE m.stop_id = s.stop_id))
        WHERE s.name = 'preserve_artifacts'
          AND s.stop_id = (SELECT j.stop_id FROM tenant.job AS j WHERE j.id = discarded.job);
        DELETE FROM tenant.discard AS d WHERE d.job_id = discarded.job AND discarded.error IS NULL
            AND NOT EXISTS (SELECT FROM tenant.artifact AS a WHERE a.job_id = discarded.job);
        UPDATE tenant.discard AS d SET error = left(discarded.error, {problem.max})
            WHERE d.job_id = discarded.job;
    END IF;
    RETURN json_build_object('job', job, 'gone', gone,
        'left', (SELECT count(*) FROM tenant.artifact AS a WHERE a.job_id = discarded.job));
END $$;
