-- Return the steps and waits of a job to the worker that holds it, so that its code does not repeat them, and
-- the names of steps that emitted partial results and did not end.
CREATE OR REPLACE FUNCTION tenant.kept_steps(worker uuid, job bigint, token bigint) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    PERFORM FROM tenant.job AS j WHERE j.id = kept_steps.job AND j.state::text = 'running'
        AND j.worker_id = worker AND j.token = kept_steps.token;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('worker %s does not hold job %s', worker, job);
    END IF;
    RETURN json_build_object(
        'steps', (SELECT coalesce(json_agg(json_build_array(s.name, s.digest, s.value, s.artifact,
                s.timed_out)), '[]')
            FROM tenant.job_step AS s
            WHERE s.job_id = kept_steps.job AND s.ended_at IS NOT NULL AND s.error IS NULL),
        'unfinished', (SELECT coalesce(json_agg(DISTINCT p.step), '[]') FROM tenant.partial AS p
            WHERE p.job_id = kept_steps.job AND p.step IS NOT NULL AND NOT EXISTS (
                SELECT FROM tenant.job_step AS s
                WHERE s.job_id = p.job_id AND s.name = p.step AND s.error IS NULL)));
END $$;
