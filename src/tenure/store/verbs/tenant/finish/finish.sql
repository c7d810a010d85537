-- Report how attempts ended. Each outcome is accepted, refused or busy.
--
-- "outcomes" is a list of {"job", "token", "outcome", ...} with outcome completed (value, or the
-- artifact in which it is "stored"), failed (error), retry (error, run_at), stopped (intent, rung) or
-- released (until, suspect, unstarted, displaced).
-- "waited" is the number of seconds by which the code began later than the claim; "started_at" is corrected.
-- Refused: the worker no longer holds the job. Busy: the row is locked by another transaction; report it
-- again. "repeated" are the refused outcomes that this worker has reported before: only the answer was
-- lost.
--
-- A released job that is "suspect" spends no attempt but counts a crash: its runner or its worker's guard
-- died and any of its jobs may have caused that, so it should run alone next time. A released job that is
-- "unstarted" keeps the suspicion it was claimed with: its code never began. A job that is "displaced" lost
-- its runner to the end of another job; the second time it runs alone next.
CREATE OR REPLACE FUNCTION tenant.finish(worker uuid, outcomes jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    plain record;
    rest  jsonb;
    other json;
BEGIN
    IF pg_column_size(outcomes) > {outcomes.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            'outcomes have at most {outcomes.max} bytes per call';
    ELSIF outcomes @? '$[*] ? (!exists(@.outcome) || (@.outcome != "completed" && @.outcome != "failed"
            && @.outcome != "retry" && @.outcome != "stopped" && @.outcome != "released"))' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'an outcome is completed, failed, retry, stopped or released';
    END IF;
    plain := tenant.complete_plainly(outcomes, worker);
    IF plain.done = '{}' THEN
        RETURN tenant.conclude(outcomes, worker);
    END IF;
    PERFORM tenant.notify_readers(plain.done);
    IF cardinality(plain.done) < jsonb_array_length(outcomes) THEN
        rest := (SELECT jsonb_agg(o) FROM jsonb_array_elements(outcomes) AS o WHERE NOT EXISTS (
            SELECT FROM unnest(plain.done, plain.tokens) AS d(job, token)
            WHERE d.job = (o -> 'job')::bigint AND d.token = (o -> 'token')::bigint));
        other := CASE WHEN rest IS NOT NULL THEN tenant.conclude(rest, worker) END;
    END IF;
    RETURN json_build_object(
        'accepted', coalesce((other -> 'accepted')::jsonb, '{}')
            || jsonb_build_object('completed', to_jsonb(plain.done)
                || coalesce((other #> '{accepted,completed}')::jsonb, '[]')),
        'refused', coalesce(other -> 'refused', '[]'),
        'repeated', coalesce(other -> 'repeated', '[]'),
        'busy', coalesce(other -> 'busy', '[]'),
        'wakes', plain.wakes OR coalesce((other ->> 'wakes')::boolean, false));
END $$;
