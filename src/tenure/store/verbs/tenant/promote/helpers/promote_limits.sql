-- Make ready the first in line of every limit that has room again, by wakes and by time.
--
-- The jobs that are called take nothing from the limit yet: the claim that starts them does. Their places
-- are kept until then, so that no more are called than there is room for.
CREATE OR REPLACE FUNCTION tenant.promote_limits(n integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    woken  text[];
    name   text;
    l      tenure.open_limit;
    ids    bigint[];
    lanes  integer[] := '{}';
    moved  integer := 0;
BEGIN
    WITH taken AS (
        DELETE FROM tenant.wake AS w WHERE w.id = ANY (ARRAY(
            SELECT o.id FROM tenant.wake AS o WHERE o.limit_name IS NOT NULL
            ORDER BY o.id LIMIT n FOR UPDATE SKIP LOCKED))
        RETURNING w.limit_name
    )
    SELECT coalesce(array_agg(DISTINCT t.limit_name), '{}') INTO woken FROM taken AS t;
    FOR name IN
        SELECT w FROM unnest(woken) AS w
        UNION (SELECT s.name FROM tenant.limit_state AS s WHERE s.lined AND s.due_at <= now_ts
            ORDER BY s.due_at LIMIT n)
        ORDER BY 1
    LOOP
        l := tenant.lock_limit(name);
        IF NOT l.locked THEN
            INSERT INTO tenant.wake (limit_name) SELECT name WHERE name = ANY (woken);
            CONTINUE;
        END IF;
        l.called := ARRAY(SELECT j.id FROM tenant.job AS j
            WHERE j.id = ANY (l.called) AND j.ready::text = 'true');
        ids := tenant.call_from_line(name, CASE WHEN l.known
            THEN least(tenant.limit_room(l) - cardinality(l.called), n) ELSE n END, now_ts);
        l.called := CASE WHEN l.known THEN l.called || ids ELSE '{}' END;
        l.lined := EXISTS (SELECT FROM tenant.job AS j WHERE j.waiting = 'limit' AND j.limits[1] = name);
        PERFORM tenant.save_limit(l);
        lanes := lanes || ARRAY(SELECT DISTINCT j.lane FROM tenant.job AS j
            WHERE j.id = ANY (ids) AND j.ready::text = 'true');
        moved := moved + cardinality(ids);
    END LOOP;
    PERFORM tenant.notify_lanes(nullif(lanes, '{}'));
    RETURN moved;
END $$;
