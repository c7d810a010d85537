-- Start up to n jobs for a worker, for claim and exchange. "got" is how many, "answer" what the worker
-- needs to run them.
CREATE OR REPLACE FUNCTION tenant.claim_batch(
    worker uuid, n integer, queues text[], tasks text[], floors jsonb, OUT got integer, OUT answer json,
    OUT alive boolean
)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} SET jit = off AS $$
DECLARE
    draw    CONSTANT bigint := (nextval('tenant.token') << 22) | floor(random() * 4194304)::bigint;
    now_ts  timestamptz;
    caller  tenure.worker;
    wanted  integer := n;
    reach   integer := n;      -- how many jobs of a priority to look at, if several rows have them
    over    integer := 32768;  -- the priority above those that are left
    level   smallint;          -- the priority that is read
    more    boolean;           -- it has jobs beyond "reach"
    lower   boolean;           -- there are lower priorities
    aside   integer := 0;      -- how many jobs were moved into the lines of limits
    before  integer;
    open    integer;
    place   tenure.lane_group;
    started bigint[];
    claimed bigint[] := '{}';
    spent   integer[] := '{}';  -- lanes whose pools have no free slot, or whose limits no room
BEGIN
    -- Held until commit: this worker cannot be declared dead while it claims.
    SELECT w.* INTO caller FROM tenure.worker AS w
    WHERE w.id = worker AND w.dead_at IS NULL
      AND tenure.may_act_for_worker(w.registered_by) FOR KEY SHARE SKIP LOCKED;
    now_ts := tenure.now();
    floors := coalesce(floors, '{}');
    IF caller.expires_at > now_ts AND caller.draining_at IS NULL AND n > 0 THEN
        LOOP
            level := NULL;
            more := false;
            lower := false;
            open := wanted;
            FOR place IN SELECT r.* FROM tenant.ready_lanes(coalesce(queues, caller.queues), tasks, floors,
                spent, reach) AS r WHERE r.priority < over LOOP
                lower := coalesce(place.priority < level, false);
                EXIT WHEN lower;
                level := place.priority;
                more := place.until IS NOT NULL;
                before := aside;
                IF place.pools <> '{}' THEN
                    SELECT s.* INTO aside, started
                    FROM tenant.start_with_slots(worker, draw, now_ts, place, wanted, aside) AS s;
                ELSIF place.limited THEN
                    SELECT s.* INTO aside, started
                    FROM tenant.start_limited(worker, draw, now_ts, place, wanted, aside) AS s;
                ELSE
                    started := tenant.start_jobs(worker, draw, now_ts, place, wanted);
                END IF;
                IF (place.limited OR place.pools <> '{}')
                        AND (aside >= 1000 OR (started = '{}' AND aside = before)) THEN
                    spent := spent || place.lanes;
                END IF;
                wanted := wanted - cardinality(started);
                claimed := claimed || started;
                EXIT WHEN wanted = 0;
            END LOOP;
            EXIT WHEN wanted = 0 OR NOT (more OR lower);
            IF more THEN
                -- Some of the first jobs could not be started. Where none could, look much further.
                reach := CASE WHEN wanted < open THEN wanted ELSE reach * 4 END;
            ELSE
                over := level;
                reach := wanted;
            END IF;
        END LOOP;
    END IF;
    got := cardinality(claimed);
    IF got > 0 THEN
        INSERT INTO tenure.hold (worker_id, tenant) VALUES (worker, '{tenant}') ON CONFLICT DO NOTHING;
    END IF;
    alive := caller.id IS NOT NULL OR EXISTS (SELECT FROM tenure.worker AS w
        WHERE w.id = worker AND w.dead_at IS NULL);
    answer := tenant.claim_answer(claimed, draw, floors, alive);
END $$;
