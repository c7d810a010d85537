-- Count what ended lately, each end once: in buckets of five minutes, and for each queue in buckets of
-- fifteen. Forget what is older than a day.
--
-- Any number of callers may run it at once: one of them counts, and nobody again before "every" has passed.
-- It goes on a minute at a time, more where little ended, and after n jobs it answers "more" and goes on when
-- it is called again.
--
-- An end has its moment before it is committed, so a moment is counted only when it is settled: when every
-- transaction that was under way then is over. Who finds one of them marks the moment, with its own
-- transaction, and leaves it to a later call. Five seconds more, for a transaction that has taken the moment
-- but written nothing yet, and so is not known.
CREATE OR REPLACE FUNCTION tenant.roll_up(every interval DEFAULT '0', n integer DEFAULT 10000) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    began  CONSTANT timestamptz := tenure.now() - (clock_timestamp() - transaction_timestamp());
    oldest CONSTANT timestamptz := date_bin('15 minutes', began - interval '25 hours', 'epoch');
    ours   tenant.rolled_up;
    mine   xid8;
    open   xid8;  -- every transaction before it is over
    since  timestamptz;
    slice  interval := '1 minute';
    got    bigint;
    jobs   bigint := 0;
BEGIN
    IF n IS NULL OR n < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('%s jobs cannot be counted; 1 and more can', coalesce(n::text, 'no'));
    END IF;
    IF NOT EXISTS (SELECT FROM tenant.rolled_up) THEN
        INSERT INTO tenant.rolled_up (until, settled) VALUES (oldest, oldest) ON CONFLICT DO NOTHING;
    END IF;
    SELECT r.* INTO ours FROM tenant.rolled_up AS r FOR UPDATE SKIP LOCKED;
    IF NOT FOUND OR (ours.until = ours.settled AND every > interval '0'
        AND ours.looked_at > began - least(every, interval '1 day')) THEN
        RETURN json_build_object('jobs', 0, 'until', ours.until, 'more', false);
    END IF;

    mine := pg_current_xact_id();
    open := pg_snapshot_xmin(pg_current_snapshot());
    IF open >= mine THEN
        ours.settled := greatest(ours.settled, began - interval '5 seconds');
        ours.marked_at := NULL;
        ours.marked_by := NULL;
    ELSIF ours.marked_by IS NULL OR open >= ours.marked_by OR ours.marked_by > mine THEN
        -- A mark from the future came with a dump: what was under way on that server is not in it.
        ours.settled := greatest(ours.settled, ours.marked_at);
        ours.marked_at := began - interval '5 seconds';
        ours.marked_by := mine;
    END IF;

    ours.until := greatest(ours.until, least(oldest, ours.settled));
    WHILE ours.until < ours.settled AND jobs < n LOOP
        since := ours.until;
        ours.until := least(since + slice, ours.settled);
        slice := least(slice * 2, interval '15 minutes');
        WITH ended AS MATERIALIZED (
            SELECT e.* FROM tenant.ends_between(since, ours.until) AS e
        ), added AS (
            INSERT INTO tenant.rollup AS r SELECT * FROM ended
            ON CONFLICT (at, queue, kind, bin) DO UPDATE SET n = r.n + excluded.n
        )
        SELECT coalesce(sum(e.n), 0) INTO got FROM ended AS e
        WHERE e.queue = '' AND e.kind NOT IN ('wait', 'run');
        jobs := jobs + got;
    END LOOP;
    UPDATE tenant.rolled_up AS r SET until = ours.until, settled = ours.settled, looked_at = began,
        marked_at = ours.marked_at, marked_by = ours.marked_by;
    DELETE FROM tenant.rollup AS r WHERE r.at < oldest;
    RETURN json_build_object('jobs', jobs, 'until', ours.until, 'more', ours.until < ours.settled);
END $$;
