-- Set whether a worker wants a notification when there are jobs for it; return whether that changed. It
-- never waits: a row that is locked now is set by the next claim.
CREATE OR REPLACE FUNCTION tenure.set_idle(worker uuid, wants_jobs boolean) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE tenure.worker AS w SET idle = wants_jobs WHERE w.id = (
        SELECT o.id FROM tenure.worker AS o
        WHERE o.id = worker AND o.idle <> wants_jobs AND tenure.may_act_for_worker(o.registered_by)
          AND o.dead_at IS NULL
          AND (o.draining_at IS NULL OR NOT wants_jobs)
        FOR NO KEY UPDATE SKIP LOCKED);
    RETURN FOUND;
END $$;
