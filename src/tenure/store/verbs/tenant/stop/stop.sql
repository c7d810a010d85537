-- Stop a job and all its descendants: cancel it, or pause it so that it can be resumed later.
--
-- One transaction writes the cancellation record, ends what has not started, marks what runs and notifies
-- its workers, and refuses new children. Children always stop with their parent; "cascade" decides about
-- jobs that depend on a cancelled one, of which those of other owners keep waiting unless an admin asks.
-- Asking again returns the same record; asking with "force" while a graceful stop is in progress escalates
-- it.
--
-- Options that are not given are those of the "strategy", or else: no force, cascade, the grace of the
-- task, up to killing, artifacts kept as the task declares ("preserve"), no rollback.
--
-- A job with the option "cancel_pauses" is paused by a plain cancel: one without force that does not come
-- from a policy ("policy:..."); a job that is paused already is cancelled. With "rollback" a job of the
-- task tenure.rollback is enqueued, which runs when the cancelled job has ended; it rolls back all
-- completed children, or those that "rollback_tasks" names.
CREATE OR REPLACE FUNCTION tenant.stop(
    job bigint, intent text DEFAULT 'cancel', reason text DEFAULT NULL,
    force boolean DEFAULT NULL, "cascade" boolean DEFAULT NULL, grace interval DEFAULT NULL,
    last_rung tenure.rung DEFAULT NULL, by text DEFAULT NULL, via text DEFAULT 'sql',
    ask_for interval DEFAULT NULL, rollback boolean DEFAULT NULL, rollback_tasks bigint[] DEFAULT NULL,
    preserve boolean DEFAULT NULL, strategy text DEFAULT NULL, role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    refusal CONSTANT json := tenant.forbidden(coalesce(intent, 'stop'), 'operator', 'job', job::text, by, via,
        role);
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    RETURN tenant.stop_job(job, intent, reason, actor, via,
        ROW(strategy, force, "cascade", grace, ask_for, last_rung, preserve, rollback, rollback_tasks),
        CASE WHEN tenant.role_of(role) <> 'admin' THEN actor END);
END $$;
