-- Start up to n jobs for a worker, by priority, then position.
--
-- A job never has two workers, and a claim never waits: it skips locked rows. A worker that is dead,
-- draining or beyond its lease gets nothing. Without "queues" it claims from those that it registered for.
--
-- Claimed jobs leave dead entries at the front of the index, and claims would read all of them again and
-- again while an old snapshot keeps them. So a claim returns how far it came in each lane and priority
-- ("floors"), and the next claim may start there. A job that commits late is below the floor: claim without
-- floors about once a second.
CREATE OR REPLACE FUNCTION tenant.claim(
    worker uuid, n integer, queues text[] DEFAULT NULL, tasks text[] DEFAULT NULL, floors jsonb DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    taken record := tenant.claim_batch(worker, n, queues, tasks, floors);
BEGIN
    IF n > 0 THEN
        PERFORM tenure.set_idle(worker, taken.got < n);
    END IF;
    RETURN taken.answer;
END $$;
