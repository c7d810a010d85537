-- Start ready jobs of a lane whose jobs have limits, by position: those whose limits all have room. The
-- others leave the claim index and wait in the line of the limit that had none.
--
-- A job that was called from a line has its place there; others that are ready wait behind a line. A limit
-- that another transaction has locked is asked again soon: its jobs stay ready, and promote gets a wake. A
-- claim moves about a thousand jobs "aside", and passes over about a thousand whose limit is locked, so that
-- a long lane does not hold it up.
CREATE OR REPLACE FUNCTION tenant.start_limited(
    worker uuid, draw bigint, now_ts timestamptz, place tenure.lane_group, wanted integer,
    INOUT aside integer, OUT started bigint[]
)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    until   CONSTANT bigint := coalesce(place.until, 9223372036854775807);
    scope   integer := wanted;
    ids     bigint[];          -- ready jobs, locked
    asked   tenure.open_limit[] := '{}';
    names   text[] := '{}';    -- of these limits
    rooms   integer[] := '{}'; -- how many jobs may start under each
    open    boolean[] := '{}'; -- nobody waits for it, and nobody was called
    job     record;
    name    text;
    at      integer;
    refusal text;              -- the limit without room for a job
    busy    bigint[] := '{}';  -- jobs that stay ready, because a limit of theirs is locked
    parked  bigint[] := '{}';
    lines   text[] := '{}';    -- where those wait
BEGIN
    started := '{}';
    LOOP
        ids := ARRAY(SELECT r.id FROM tenant.job AS r
            WHERE r.ready AND r.lane = place.lanes[1] AND r.priority = place.priority
              AND r.position >= place.since[1] AND r.position < until
              AND r.id <> ALL (started) AND r.id <> ALL (parked) AND r.id <> ALL (busy)
            ORDER BY r.position LIMIT scope FOR UPDATE SKIP LOCKED);
        EXIT WHEN ids = '{}';
        FOR name IN SELECT DISTINCT n FROM tenant.job AS j CROSS JOIN LATERAL unnest(j.limits) AS n
                WHERE j.id = ANY (ids) AND n <> ALL (names) ORDER BY n LOOP
            names := names || name;
            asked := asked || tenant.lock_limit(name, waits => true);
            rooms := rooms || CASE WHEN asked[cardinality(names)].known
                THEN tenant.limit_room(asked[cardinality(names)]) ELSE 1000000 END;
            open := open || (asked[cardinality(names)].locked AND NOT asked[cardinality(names)].lined
                AND asked[cardinality(names)].called = '{}');
        END LOOP;
        IF cardinality(started) + cardinality(ids) <= wanted AND NOT EXISTS (
                SELECT FROM tenant.job AS j CROSS JOIN LATERAL unnest(j.limits) AS n
                JOIN unnest(names, rooms, open) AS l(name, room, is_open) ON l.name = n
                WHERE j.id = ANY (ids)
                GROUP BY l.name, l.room, l.is_open HAVING NOT l.is_open OR count(*) > l.room) THEN
            -- All of them fit: no job has to be judged by itself.
            started := started || ids;
            EXIT;
        END IF;
        FOR job IN SELECT j.id, j.limits FROM tenant.job AS j WHERE j.id = ANY (ids) ORDER BY j.position LOOP
            EXIT WHEN cardinality(started) >= wanted;
            refusal := NULL;
            FOREACH name IN ARRAY job.limits LOOP
                at := array_position(names, name);
                IF NOT asked[at].locked THEN
                    refusal := '';
                    EXIT;
                ELSIF asked[at].known AND NOT (rooms[at] > 0 AND job.id = ANY (asked[at].called)
                        OR rooms[at] > cardinality(asked[at].called) AND NOT asked[at].lined) THEN
                    refusal := coalesce(refusal, name);
                END IF;
            END LOOP;
            IF refusal = '' THEN
                busy := busy || job.id;
                CONTINUE;
            END IF;
            FOREACH name IN ARRAY job.limits LOOP
                at := array_position(names, name);
                IF refusal IS NULL THEN
                    rooms[at] := rooms[at] - 1;
                END IF;
                IF job.id = ANY (asked[at].called) THEN
                    asked[at].called := array_remove(asked[at].called, job.id);
                END IF;
                IF name = refusal THEN
                    asked[at].lined := true;
                END IF;
            END LOOP;
            IF refusal IS NULL THEN
                started := started || job.id;
            ELSE
                parked := parked || job.id;
                lines := lines || refusal;
            END IF;
        END LOOP;
        EXIT WHEN cardinality(started) >= wanted OR cardinality(ids) < scope
            OR aside + cardinality(parked) >= 1000 OR cardinality(busy) >= 1000;
        scope := 500;
    END LOOP;

    UPDATE tenant.job AS j SET state = 'running', ready = false, worker_id = start_limited.worker,
        token = draw, attempt = j.attempt + 1,
        -- When its own limits were read. The others of this claim may have been waited for after that.
        started_at = greatest(now_ts, (SELECT max(l.at) FROM unnest(asked) AS l
            WHERE l.name = ANY (j.limits)))
    WHERE j.id = ANY (started);
    UPDATE tenant.job AS j SET ready = false, waiting = 'limit',
        limits = ARRAY[p.line] || array_remove(j.limits, p.line)
    FROM unnest(parked, lines) AS p(id, line) WHERE j.id = p.id;
    FOR at IN 1 .. cardinality(names) LOOP
        CONTINUE WHEN NOT (asked[at].locked AND asked[at].known);
        PERFORM tenant.take_for_jobs(asked[at], started);
    END LOOP;
    INSERT INTO tenant.wake (limit_name)
    SELECT l.name FROM unnest(asked) AS l WHERE NOT l.locked
    UNION SELECT lines[cardinality(lines)] WHERE parked <> '{}' AND aside + cardinality(parked) >= 1000;
    aside := aside + cardinality(parked);
END $$;
