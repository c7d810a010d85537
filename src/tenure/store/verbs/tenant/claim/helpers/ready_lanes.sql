-- Return where there are jobs to claim: a row per priority with all its lanes, and a row per lane that has
-- limits, or draws from pools and has a slot left. Highest priority first, then longest waiting.
--
-- Where a priority has several rows, "until" is the position behind its first "reach" jobs: as far as a claim
-- of so many may read any of them. Rows that begin behind it are left out. Null: there are no more jobs.
--
-- Where a floor is known the search starts there; between known priorities it searches for new ones.
CREATE OR REPLACE FUNCTION tenant.ready_lanes(
    queues text[], tasks text[], floors jsonb, spent integer[], reach integer
) RETURNS SETOF tenure.lane_group
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
#variable_conflict use_column
DECLARE
    open     tenant.lane;
    upper    integer;
    known    integer;
    found_at smallint;
    since    bigint;
    places   tenure.ready_lane[] := '{}';
    sole     tenure.ready_lane;
BEGIN
    FOR open IN
        SELECT l.* FROM tenant.lane AS l
        WHERE l.task IS NOT NULL
          AND (ready_lanes.queues IS NULL OR l.queue = ANY (ready_lanes.queues))
          AND (ready_lanes.tasks IS NULL OR l.task = ANY (ready_lanes.tasks))
          AND l.id <> ALL (spent)
          AND NOT EXISTS (SELECT FROM unnest(l.pools) AS p(pool) WHERE NOT EXISTS (
                SELECT FROM tenant.slot AS s WHERE s.pool = p.pool AND s.job_id IS NULL))
          AND NOT EXISTS (SELECT FROM tenant.pause AS p WHERE p.subject = 'tenant')
          AND NOT EXISTS (SELECT FROM tenant.pause AS p WHERE p.subject = 'queue' AND p.name = l.queue)
          AND NOT EXISTS (SELECT FROM tenant.pause AS p WHERE p.subject = 'pool' AND p.name = ANY (l.pools))
    LOOP
        upper := 32768;
        LOOP
            known := NULL;
            IF floors ? open.id::text THEN
                known := (SELECT max(k.key::integer) FROM jsonb_object_keys(floors -> open.id::text) AS k(key)
                          WHERE k.key::integer < upper);
            END IF;
            found_at := (SELECT j.priority FROM tenant.job AS j
                WHERE j.ready AND j.lane = open.id AND j.priority < upper
                  AND j.priority > coalesce(known, -32769)
                ORDER BY j.priority DESC, j.position DESC LIMIT 1);
            EXIT WHEN found_at IS NULL AND known IS NULL;
            since := CASE WHEN found_at IS NULL THEN (floors #>> ARRAY[open.id::text, known::text])::bigint
                ELSE 0 END;
            upper := coalesce(found_at, known);
            IF found_at IS NOT NULL OR EXISTS (SELECT FROM tenant.job AS j
                    WHERE j.ready AND j.lane = open.id AND j.priority = upper AND j.position >= since) THEN
                places := places || (upper, open.id, open.pools, open.limited, since)::tenure.ready_lane;
            END IF;
        END LOOP;
    END LOOP;
    IF cardinality(places) < 2 THEN
        FOREACH sole IN ARRAY places LOOP
            RETURN NEXT (sole.priority, sole.pools, sole.limited, ARRAY[sole.lane], ARRAY[sole.since],
                NULL::bigint)::tenure.lane_group;
        END LOOP;
        RETURN;
    END IF;
    RETURN QUERY
    WITH line AS (
        SELECT p.priority, p.pools, p.limited, array_agg(p.lane) AS lanes, array_agg(p.since) AS since,
            min(f.position) AS head, count(*) OVER (PARTITION BY p.priority) AS lines
        FROM unnest(places) AS p CROSS JOIN LATERAL (
            SELECT j.position FROM tenant.job AS j
            WHERE j.ready AND j.lane = p.lane AND j.priority = p.priority AND j.position >= p.since
            ORDER BY j.position LIMIT 1) AS f
        GROUP BY p.priority, p.pools, p.limited, CASE WHEN p.limited OR p.pools <> '{}' THEN p.lane END
    ), bound AS (
        SELECT level.priority, (
            SELECT f.position FROM unnest(places) AS p CROSS JOIN LATERAL (
                SELECT j.position FROM tenant.job AS j
                WHERE j.ready AND j.lane = p.lane AND j.priority = p.priority AND j.position >= p.since
                ORDER BY j.position LIMIT reach + 1) AS f
            WHERE p.priority = level.priority
            ORDER BY f.position OFFSET reach LIMIT 1) AS until
        FROM (SELECT DISTINCT l.priority FROM line AS l WHERE l.lines > 1) AS level
    )
    SELECT l.priority, l.pools, l.limited, l.lanes, l.since, b.until
    FROM line AS l LEFT JOIN bound AS b ON b.priority = l.priority
    WHERE (l.head < b.until) IS NOT FALSE
    ORDER BY l.priority DESC, l.head;
END $$;
