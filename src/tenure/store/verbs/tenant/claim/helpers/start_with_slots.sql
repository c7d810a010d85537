-- Start ready jobs of a lane that draws from pools: as many as there are free slots, one of each pool.
CREATE OR REPLACE FUNCTION tenant.start_with_slots(
    worker uuid, draw bigint, now_ts timestamptz, place tenure.lane_group, wanted integer,
    INOUT aside integer, OUT started bigint[]
)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    pool_name text;
    free      text[];
    slots     jsonb := '{}';
BEGIN
    FOREACH pool_name IN ARRAY place.pools LOOP
        free := ARRAY(SELECT s.name FROM tenant.slot AS s WHERE s.pool = pool_name AND s.job_id IS NULL
                      ORDER BY s.name LIMIT wanted FOR UPDATE SKIP LOCKED);
        wanted := least(wanted, cardinality(free));
        slots := slots || jsonb_build_object(pool_name, free);
    END LOOP;
    IF wanted = 0 THEN
        started := '{}';
        RETURN;
    END IF;
    IF place.limited THEN
        SELECT l.* INTO aside, started
        FROM tenant.start_limited(worker, draw, now_ts, place, wanted, aside) AS l;
    ELSE
        started := tenant.start_jobs(worker, draw, now_ts, place, wanted);
    END IF;
    UPDATE tenant.slot AS s SET job_id = j.id, held_at = now_ts
    FROM unnest(started) WITH ORDINALITY AS j(id, number)
    CROSS JOIN unnest(place.pools) AS p(pool)
    WHERE s.pool = p.pool AND s.name = slots -> p.pool ->> (j.number::integer - 1);
END $$;
