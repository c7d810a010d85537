-- Start up to n jobs for a worker, for claim and exchange. "got" is how many, "answer" what the worker
-- needs to run them.
CREATE OR REPLACE FUNCTION tenant.claim_batch(
    worker uuid, n integer, queues text[], tasks text[], floors jsonb, OUT got integer, OUT answer json
)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} SET jit = off AS $$
DECLARE
    draw    CONSTANT bigint := (nextval('tenant.token') << 22) | floor(random() * 4194304)::bigint;
    now_ts  timestamptz;
    caller  tenure.worker;
    wanted  integer := n;
    place   tenure.lane_group;
    started bigint[];
    claimed bigint[] := '{}';
    spent   integer[] := '{}';  -- lanes whose pools have no free slot
    again   boolean := true;
BEGIN
    -- Held until commit: this worker cannot be declared dead while it claims.
    SELECT w.* INTO caller FROM tenure.worker AS w
    WHERE w.id = worker AND w.dead_at IS NULL
      AND tenure.may_act_for_worker(w.registered_by) FOR KEY SHARE SKIP LOCKED;
    now_ts := tenure.now();
    floors := coalesce(floors, '{}');
    IF caller.expires_at > now_ts AND caller.draining_at IS NULL AND n > 0
            AND NOT EXISTS (SELECT FROM tenant.pause AS p WHERE p.subject = 'tenant') THEN
        WHILE again LOOP
            again := false;
            FOR place IN SELECT * FROM tenant.ready_lanes(coalesce(queues, caller.queues), tasks, floors,
                spent) LOOP
                IF place.pools = '{}' THEN
                    started := tenant.start_jobs(worker, draw, now_ts, place, wanted);
                ELSE
                    started := tenant.start_with_slots(worker, draw, now_ts, place, wanted);
                    spent := CASE WHEN started = '{}' THEN spent || place.lanes ELSE spent END;
                END IF;
                wanted := wanted - cardinality(started);
                claimed := claimed || started;
                EXIT WHEN wanted = 0;
                -- It claimed only up to the position of another lane; when all lanes have been read, start
                -- again.
                again := again OR (place.until IS NOT NULL AND (started <> '{}' OR place.pools <> '{}'));
            END LOOP;
            EXIT WHEN wanted = 0;
        END LOOP;
    END IF;
    got := cardinality(claimed);
    IF got > 0 THEN
        INSERT INTO tenure.hold (worker_id, tenant) VALUES (worker, '{tenant}') ON CONFLICT DO NOTHING;
    END IF;
    answer := tenant.claim_answer(claimed, draw, floors,
        caller.id IS NOT NULL OR EXISTS (SELECT FROM tenure.worker AS w
            WHERE w.id = worker AND w.dead_at IS NULL));
END $$;
