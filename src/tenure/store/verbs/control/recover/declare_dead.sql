-- Declare dead every worker whose lease has expired. An expired lease permits death; death fences the
-- worker and is final.
--
-- The worker row is locked and its lease read again under the lock, so a renewal that was accepted always
-- counts. A worker in the middle of a claim holds its row and is skipped this time. A sweep that runs after
-- a gap longer than a worker's lease (an outage, a failover, a clock that jumped) could not have seen its
-- renewals either: it leaves the worker alone for one more lease.
CREATE OR REPLACE FUNCTION tenure.declare_dead(grace interval DEFAULT '0') RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts     timestamptz := tenure.now();
    last_sweep tenure.last_sweep;
    declared   json;
BEGIN
    IF NOT coalesce(grace BETWEEN interval '0' AND {grace.max}, false) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
            'workers are given a grace from 0s to 36500 days beyond their lease, not %s',
            coalesce(grace::text, 'null'));
    END IF;
    -- If the row is locked, another caller is sweeping.
    SELECT w.* INTO last_sweep FROM tenure.last_sweep AS w WHERE w.only_row FOR UPDATE SKIP LOCKED;
    IF NOT FOUND AND NOT EXISTS (SELECT FROM tenure.last_sweep) THEN
        INSERT INTO tenure.last_sweep AS w (swept_at) VALUES (now_ts) ON CONFLICT DO NOTHING RETURNING w.*
        INTO last_sweep;
    END IF;
    IF last_sweep.swept_at IS NULL THEN
        RETURN json_build_object('dead', '[]'::json, 'blind_until', NULL);
    END IF;
    now_ts := tenure.now();
    -- The longer of two outages counts until it has passed.
    IF now_ts - last_sweep.swept_at >= last_sweep.away
        OR now_ts > last_sweep.returned_at + last_sweep.away THEN
        last_sweep.away := now_ts - last_sweep.swept_at;
        last_sweep.returned_at := now_ts;
    END IF;
    UPDATE tenure.last_sweep AS w
    SET swept_at = now_ts, returned_at = last_sweep.returned_at, away = last_sweep.away
    WHERE w.only_row;

    WITH late AS (
        SELECT w.id FROM tenure.worker AS w
        WHERE w.dead_at IS NULL AND w.expires_at < now_ts - grace
          AND NOT (last_sweep.away > w.lease AND now_ts < last_sweep.returned_at + w.lease)
        FOR UPDATE SKIP LOCKED
    ), dead AS (
        UPDATE tenure.worker AS w SET dead_at = tenure.now(), idle = false
        FROM late
        WHERE w.id = late.id AND w.dead_at IS NULL AND w.expires_at < now_ts - grace
        RETURNING w.id, w.host, w.pid, w.beat_at, w.expires_at, w.tenants
    )
    SELECT json_agg(json_build_object('worker_id', d.id, 'host', d.host, 'pid', d.pid,
        'beat_at', d.beat_at, 'expires_at', d.expires_at)) INTO declared FROM dead AS d
            WHERE tenure.can_see_worker(d.tenants);
    RETURN json_build_object('dead', coalesce(declared, '[]'), 'blind_until', (
        SELECT max(last_sweep.returned_at + w.lease) FROM tenure.worker AS w
        WHERE w.dead_at IS NULL AND w.expires_at < now_ts - grace
          AND last_sweep.away > w.lease AND now_ts < last_sweep.returned_at + w.lease));
END $$;
