-- Start up to n jobs for a worker, by priority, then turn.
--
-- Never two workers for one job and never a wait: what another has locked is passed over. A worker
-- that is dead, draining or beyond its lease gets nothing. Without "queues" it is served from those it
-- registered for.
--
-- Claimed jobs leave dead entries at the front of the index, and a claim would walk over all of them
-- again and again while an old snapshot keeps them. So a claim says how far it came in each lane and
-- priority ("floors"), and the next one may start from there. Whoever commits late is below the
-- floor: start without floors about once a second.
CREATE OR REPLACE FUNCTION tenant.claim(
    worker uuid, n integer, queues text[] DEFAULT NULL, tasks text[] DEFAULT NULL, floors jsonb DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    taken record := tenant.claim_batch(worker, n, queues, tasks, floors);
BEGIN
    IF n > 0 THEN
        PERFORM tenure.settle_idle(worker, taken.got < n);
    END IF;
    RETURN taken.answer;
END $$;
