-- Count recent ends, each once: in buckets of five minutes, and for each queue in buckets of fifteen.
-- Delete buckets older than a day.
--
-- Any number of callers may run it at once: one of them counts, and no other before "every" has passed. It
-- advances a minute at a time, more where little ended; after n jobs it returns "more" and continues when
-- it is called again.
--
-- An end gets its timestamp before it is committed, so a timestamp is counted only when it is settled: when
-- every transaction that was in progress then has ended. A caller that finds one in progress marks the
-- timestamp with its own transaction and leaves it to a later call. Five seconds more are left for a
-- transaction that has read the time but has written nothing yet, and so has no id.
CREATE OR REPLACE FUNCTION tenant.roll_up(every interval DEFAULT '0', n integer DEFAULT 10000) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    began    CONSTANT timestamptz := tenure.now() - (clock_timestamp() - transaction_timestamp());
    oldest   CONSTANT timestamptz := date_bin('15 minutes', began - interval '25 hours', 'epoch');
    progress tenant.rolled_up;
    mine     xid8;
    open     xid8;  -- every earlier transaction has ended
    since    timestamptz;
    slice    interval := '1 minute';
    got      bigint;
    jobs     bigint := 0;
BEGIN
    IF n IS NULL OR n < 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('%s jobs cannot be counted; 1 and more can', coalesce(n::text, 'no'));
    END IF;
    IF NOT EXISTS (SELECT FROM tenant.rolled_up) THEN
        INSERT INTO tenant.rolled_up (until, settled) VALUES (oldest, oldest) ON CONFLICT DO NOTHING;
    END IF;
    SELECT r.* INTO progress FROM tenant.rolled_up AS r FOR UPDATE SKIP LOCKED;
    IF NOT FOUND OR (progress.until = progress.settled AND every > interval '0'
        AND progress.checked_at > began - least(every, interval '1 day')) THEN
        RETURN json_build_object('jobs', 0, 'until', progress.until, 'more', false);
    END IF;

    mine := pg_current_xact_id();
    open := pg_snapshot_xmin(pg_current_snapshot());
    IF open >= mine THEN
        progress.settled := greatest(progress.settled, began - interval '5 seconds');
        progress.marked_at := NULL;
        progress.marked_by := NULL;
    ELSIF progress.marked_by IS NULL OR open >= progress.marked_by OR progress.marked_by > mine THEN
        -- A mark from the future came with a dump: transactions of that server are not in it.
        progress.settled := greatest(progress.settled, progress.marked_at);
        progress.marked_at := began - interval '5 seconds';
        progress.marked_by := mine;
    END IF;

    progress.until := greatest(progress.until, least(oldest, progress.settled));
    WHILE progress.until < progress.settled AND jobs < n LOOP
        since := progress.until;
        progress.until := least(since + slice, progress.settled);
        slice := least(slice * 2, interval '15 minutes');
        WITH ended AS MATERIALIZED (
            SELECT e.* FROM tenant.ends_between(since, progress.until) AS e
        ), added AS (
            INSERT INTO tenant.rollup AS r SELECT * FROM ended
            ON CONFLICT (at, queue, kind, bin) DO UPDATE SET n = r.n + excluded.n
        )
        SELECT coalesce(sum(e.n), 0) INTO got FROM ended AS e
        WHERE e.queue = '' AND e.kind NOT IN ('wait', 'run');
        jobs := jobs + got;
    END LOOP;
    UPDATE tenant.rolled_up AS r SET until = progress.until, settled = progress.settled, checked_at = began,
        marked_at = progress.marked_at, marked_by = progress.marked_by;
    DELETE FROM tenant.rollup AS r WHERE r.at < oldest;
    RETURN json_build_object('jobs', jobs, 'until', progress.until,
        'more', progress.until < progress.settled);
END $$;
