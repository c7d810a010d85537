-- Declare dead every worker whose lease is over. Expiry permits death; death fences, and is final.
--
-- The worker row is locked and its lease read again under the lock, so a renewal that was accepted
-- always counts. A worker in the middle of a claim holds its row and is passed over this time. A
-- sweep that finds nobody has swept for longer than a worker's lease (an outage, a promotion, a clock
-- that jumped) could not have seen its renewals either: it leaves it alone for one more lease.
CREATE OR REPLACE FUNCTION tenure.declare_dead(grace interval DEFAULT '0') RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    moment timestamptz := tenure.now();
    watch  tenure.watch;
    buried json;
BEGIN
    IF NOT coalesce(grace BETWEEN interval '0' AND {grace.most}, false) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
            'workers are given a grace from 0s to 36500 days beyond their lease, not %s',
            coalesce(grace::text, 'null'));
    END IF;
    -- Whoever finds the watch taken is not needed: somebody else is sweeping.
    SELECT w.* INTO watch FROM tenure.watch AS w WHERE w.alone FOR UPDATE SKIP LOCKED;
    IF NOT FOUND AND NOT EXISTS (SELECT FROM tenure.watch) THEN
        INSERT INTO tenure.watch AS w (swept_at) VALUES (moment) ON CONFLICT DO NOTHING RETURNING w.*
        INTO watch;
    END IF;
    IF watch.swept_at IS NULL THEN
        RETURN json_build_object('dead', '[]'::json, 'blind_until', NULL);
    END IF;
    moment := tenure.now();
    -- The longer of two outages counts until it is forgotten.
    IF moment - watch.swept_at >= watch.away OR moment > watch.returned_at + watch.away THEN
        watch.away := moment - watch.swept_at;
        watch.returned_at := moment;
    END IF;
    UPDATE tenure.watch AS w SET swept_at = moment, returned_at = watch.returned_at, away = watch.away
    WHERE w.alone;

    WITH late AS (
        SELECT w.id FROM tenure.worker AS w
        WHERE w.dead_at IS NULL AND w.expires_at < moment - grace
          AND NOT (watch.away > w.lease AND moment < watch.returned_at + w.lease)
        FOR UPDATE SKIP LOCKED
    ), dead AS (
        UPDATE tenure.worker AS w SET dead_at = tenure.now(), idle = false
        FROM late
        WHERE w.id = late.id AND w.dead_at IS NULL AND w.expires_at < moment - grace
        RETURNING w.id, w.host, w.pid, w.beat_at, w.expires_at, w.tenants
    )
    SELECT json_agg(json_build_object('worker_id', d.id, 'host', d.host, 'pid', d.pid,
        'beat_at', d.beat_at, 'expires_at', d.expires_at)) INTO buried FROM dead AS d
            WHERE tenure.shows_worker(d.tenants);
    RETURN json_build_object('dead', coalesce(buried, '[]'), 'blind_until', (
        SELECT max(watch.returned_at + w.lease) FROM tenure.worker AS w
        WHERE w.dead_at IS NULL AND w.expires_at < moment - grace
          AND watch.away > w.lease AND moment < watch.returned_at + w.lease));
END $$;
