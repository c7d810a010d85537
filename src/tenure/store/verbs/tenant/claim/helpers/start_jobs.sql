-- Start ready jobs of these lanes at one priority, by position. Return their ids.
CREATE OR REPLACE FUNCTION tenant.start_jobs(
    worker uuid, draw bigint, now_ts timestamptz, place tenure.lane_group, wanted integer
) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    level   CONSTANT smallint := place.priority;
    first   CONSTANT integer := place.lanes[1];
    floor   CONSTANT bigint := place.since[1];
    until   CONSTANT bigint := coalesce(place.until, 9223372036854775807);
    scope   integer := wanted * 3;
    around  tid[];
    started bigint[] := '{}';
    more    bigint[];
BEGIN
    IF cardinality(place.lanes) = 1 THEN
        -- As a join by id this was planned as a hash join over the whole table; a list of ctids is not.
        -- With a bare "ready" the planner read all ready jobs where its statistics did not know them yet.
        WITH running AS (
            UPDATE tenant.job AS j
            SET state = 'running', ready = false, worker_id = start_jobs.worker, token = draw,
                attempt = j.attempt + 1, started_at = now_ts
            WHERE coalesce(j.ready, false) AND j.ctid = ANY (ARRAY(
                SELECT r.ctid FROM tenant.job AS r
                WHERE r.ready AND r.lane = first AND r.priority = level AND r.position >= floor
                  AND r.position < until
                ORDER BY r.position LIMIT wanted FOR UPDATE SKIP LOCKED))
            RETURNING j.id
        )
        SELECT coalesce(array_agg(running.id), '{}') INTO started FROM running;
        RETURN started;
    END IF;
    -- Several lanes: read the front of each, merge, and only then lock, so that no job is locked that is
    -- not claimed. Jobs locked by others may fill the batch; then read further.
    LOOP
        around := ARRAY(
            SELECT f.ctid FROM unnest(place.lanes, place.since) AS l(lane, since) CROSS JOIN LATERAL (
                SELECT r.ctid, r.position FROM tenant.job AS r
                WHERE r.ready AND r.lane = l.lane AND r.priority = level AND r.position >= l.since
                  AND r.position < until
                ORDER BY r.position LIMIT scope) AS f
            ORDER BY f.position LIMIT scope);
        WITH running AS (
            UPDATE tenant.job AS j
            SET state = 'running', ready = false, worker_id = start_jobs.worker, token = draw,
                attempt = j.attempt + 1, started_at = now_ts
            WHERE coalesce(j.ready, false) AND j.ctid = ANY (ARRAY(
                SELECT r.ctid FROM tenant.job AS r WHERE coalesce(r.ready, false) AND r.ctid = ANY (around)
                ORDER BY r.position LIMIT wanted - cardinality(started) FOR UPDATE SKIP LOCKED))
            RETURNING j.id
        )
        SELECT coalesce(array_agg(running.id), '{}') INTO more FROM running;
        started := started || more;
        EXIT WHEN cardinality(started) >= wanted OR cardinality(around) < scope;
        scope := scope * 4;
    END LOOP;
    RETURN started;
END $$;
