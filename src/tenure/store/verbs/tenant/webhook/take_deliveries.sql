-- Take what is due for a webhook, with the secrets that sign it: other workers leave it alone for a minute.
-- Who takes it must call record_deliveries; if it dies instead, it is due again after that minute.
--
-- While the receiver fails, one delivery at a time is tried. Those whose time is over are given up.
CREATE OR REPLACE FUNCTION tenant.take_deliveries(webhook text, n integer DEFAULT 16) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s'
{index_scans} AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    hook   tenant.webhook;
    taken  json;
BEGIN
    SELECT w.* INTO hook FROM tenant.webhook AS w
    WHERE w.name = take_deliveries.webhook AND coalesce(w.resumes_at <= now_ts, true);
    IF NOT FOUND THEN
        RETURN '[]';
    END IF;
    IF hook.failures > 0 THEN
        UPDATE tenant.delivery AS d SET due_at = NULL,
            error = coalesce(d.error || '; ', '') || 'given up after three days'
        WHERE d.webhook = hook.name AND d.due_at <= now_ts AND d.until < now_ts;
    END IF;
    WITH due AS (
        SELECT d.id FROM tenant.delivery AS d WHERE d.webhook = hook.name AND d.due_at <= now_ts
        ORDER BY d.due_at, d.id
        LIMIT CASE WHEN hook.failures > 0 THEN 1 ELSE tenure.batch_size(n) END FOR UPDATE SKIP LOCKED
    ), tried AS (
        UPDATE tenant.delivery AS d SET attempts = d.attempts + 1, tried_at = now_ts,
            due_at = now_ts + interval '1 minute'
        FROM due WHERE d.id = due.id RETURNING d.*
    )
    SELECT coalesce(json_agg(json_build_object('id', t.id, 'url', hook.url, 'message', t.message,
        'body', t.body, 'attempt', t.attempts, 'secrets', array_remove(ARRAY[hook.secret,
            CASE WHEN hook.former_until > now_ts THEN hook.former_secret END], NULL)) ORDER BY t.id), '[]')
    INTO taken FROM tried AS t;
    RETURN taken;
END $$;
