-- Say how attempts ended; each outcome answers accepted, refused or busy.
--
-- "outcomes" is a list of {"job", "token", "outcome", ...} with outcome completed (value), failed
-- (error), retry (error, run_at), stopped (intent, rung) or released (until, suspect). Refused: the job
-- is not this worker's any more. Busy: somebody has the row locked just now; say it again.
--
-- A released job that is "suspect" spends no attempt, but its crashes are counted up: its runner died
-- and nobody knows whose fault it was, so it should run alone the next time.
CREATE OR REPLACE FUNCTION tenant.finish(worker uuid, outcomes jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    IF outcomes @? '$[*] ? (!exists(@.outcome) || (@.outcome != "completed" && @.outcome != "failed" && @.outcome != "retry"
            && @.outcome != "stopped" && @.outcome != "released"))' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'an outcome is completed, failed, retry, stopped or released';
    END IF;
    RETURN tenant.conclude(outcomes, worker);
END $$;
