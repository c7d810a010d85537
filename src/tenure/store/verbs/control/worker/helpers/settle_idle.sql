-- Whether a worker wants a notice when there is something for it; says whether that is new. Nobody
-- waits for this: a row that is locked just now is settled by the next claim.
CREATE OR REPLACE FUNCTION tenure.settle_idle(worker uuid, hungry boolean) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    UPDATE tenure.worker AS w SET idle = hungry WHERE w.id = (
        SELECT o.id FROM tenure.worker AS o
        WHERE o.id = worker AND o.idle <> hungry AND tenure.speaks_for(o.registered_by) AND o.dead_at IS NULL
          AND (o.draining_at IS NULL OR NOT hungry)
        FOR NO KEY UPDATE SKIP LOCKED);
    RETURN FOUND;
END $$;
