-- Start up to n jobs for a worker, by priority, then turn.
--
-- Never two workers for one job and never a wait: what another has locked is passed over. A worker
-- that is dead, draining or beyond its lease gets nothing.
--
-- Claimed jobs leave dead entries at the front of the index, and a claim would walk over all of them
-- again and again while an old snapshot keeps them. So a claim says how far it came in each lane and
-- priority ("floors"), and the next one may start from there. Whoever commits late is below the
-- floor: start without floors about once a second.
CREATE OR REPLACE FUNCTION tenant.claim(
    worker uuid, n integer, queues text[] DEFAULT NULL, tasks text[] DEFAULT NULL, floors jsonb DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    draw    CONSTANT bigint := (nextval('tenant.token') << 22) | floor(random() * 4194304)::bigint;
    moment  timestamptz;
    alive   boolean;
    wanted  integer := n;
    level   record;
    started bigint[];
    claimed bigint[] := '{}';
BEGIN
    -- Held until commit: nobody can declare this worker dead while it takes jobs.
    SELECT w.expires_at, w.draining_at INTO level FROM tenure.worker AS w
    WHERE w.id = worker AND w.dead_at IS NULL FOR KEY SHARE SKIP LOCKED;
    alive := FOUND;
    moment := tenure.now();
    floors := coalesce(floors, '{}');
    IF alive AND level.expires_at > moment AND level.draining_at IS NULL AND n > 0
            AND NOT EXISTS (SELECT FROM tenant.pause AS p WHERE p.subject = 'tenant') THEN
        FOR level IN SELECT * FROM tenant.open_places(queues, tasks, floors) LOOP
            IF level.pools = '{}' THEN
                started := tenant.start_jobs(worker, draw, moment, level.priority, level.lanes, level.turns, wanted);
            ELSE
                started := tenant.start_with_slots(worker, draw, moment, level.priority, level.lanes[1], level.turns[1], level.pools, wanted);
            END IF;
            wanted := wanted - cardinality(started);
            claimed := claimed || started;
            EXIT WHEN wanted = 0;
        END LOOP;
        UPDATE tenure.worker AS w SET idle = wanted > 0 WHERE w.id = worker AND w.idle <> (wanted > 0);
    END IF;
    RETURN tenant.claimed(claimed, draw, alive, floors);
END $$;
