-- Declare dead every worker whose lease is over. Expiry permits death; death fences, and is final.
--
-- The worker row is locked and its lease read again under the lock, so a renewal that was accepted
-- always counts. A worker in the middle of a claim holds its row and is passed over this time. A
-- sweep that finds nobody has swept for a whole lease (an outage, a promotion, a clock that jumped)
-- has seen no renewals either: it declares nobody dead for one lease.
CREATE OR REPLACE FUNCTION tenure.bury(grace interval DEFAULT '0') RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    moment timestamptz := tenure.now();
    patience interval;
    blind  timestamptz;
    buried json;
BEGIN
    SELECT coalesce(max(w.lease), '15s') INTO patience
    FROM tenure.worker AS w WHERE w.dead_at IS NULL;

    -- Whoever finds the watch taken is not needed: somebody else is sweeping.
    PERFORM FROM tenure.watch WHERE alone FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        INSERT INTO tenure.watch (swept_at) VALUES (moment) ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            RETURN json_build_object('dead', '[]'::json, 'blind_until', NULL);
        END IF;
    END IF;
    UPDATE tenure.watch AS w
    SET swept_at = moment,
        blind_until = CASE WHEN moment - w.swept_at > patience THEN moment + patience ELSE w.blind_until END
    RETURNING w.blind_until INTO blind;

    IF blind <= moment THEN
        WITH late AS (
            SELECT w.id FROM tenure.worker AS w
            WHERE w.dead_at IS NULL AND w.expires_at < moment - grace
            FOR UPDATE SKIP LOCKED
        ), dead AS (
            UPDATE tenure.worker AS w SET dead_at = tenure.now(), idle = false
            FROM late
            WHERE w.id = late.id AND w.dead_at IS NULL AND w.expires_at < moment - grace
            RETURNING w.id, w.host, w.pid, w.beat_at, w.expires_at
        )
        SELECT json_agg(json_build_object('worker_id', d.id, 'host', d.host, 'pid', d.pid,
            'beat_at', d.beat_at, 'expires_at', d.expires_at)) INTO buried FROM dead AS d;
    END IF;
    RETURN json_build_object('dead', coalesce(buried, '[]'),
        'blind_until', CASE WHEN blind > moment THEN blind END);
END $$;
