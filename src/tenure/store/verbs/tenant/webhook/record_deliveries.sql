-- Record attempts of deliveries: [{"id", "attempt", "status", "error", "wait"}]; one without an error is
-- delivered.
--
-- Others are tried again after 5 s, 1 min, 5 min, 30 min, then every 2 h, or later if the receiver asked for
-- that ("wait", in seconds). Until one succeeds, the webhook itself rests between attempts: 2 s, then twice
-- as long each time, up to 5 min. A receiver that answers 410 is disabled. An attempt that another one has
-- followed counts only if it delivered.
CREATE OR REPLACE FUNCTION tenant.record_deliveries(webhook text, results jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s'
{index_scans} AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    ok     boolean;
    gone   boolean;
    pause  interval;
BEGIN
    WITH tried AS MATERIALIZED (
        SELECT r.*, r.error IS NULL AS delivered, d.ctid AS place
        FROM jsonb_to_recordset(results)
            AS r(id bigint, attempt integer, status integer, error text, wait double precision)
        CROSS JOIN LATERAL (SELECT d.ctid FROM tenant.delivery AS d
            WHERE d.id = r.id AND d.webhook = record_deliveries.webhook AND d.delivered_at IS NULL
              AND (d.attempts = r.attempt OR r.error IS NULL) FOR UPDATE) AS d
    ), written AS (
        UPDATE tenant.delivery AS d SET status = t.status, error = left(t.error, {problem.max}),
            delivered_at = CASE WHEN t.delivered THEN now_ts END,
            due_at = CASE WHEN NOT t.delivered AND t.status IS DISTINCT FROM 410 THEN now_ts
                + greatest(make_interval(secs => t.wait), (0.8 + 0.4 * random()) * coalesce(
                    (ARRAY[interval '5 s', '1 min', '5 min', '30 min'])[t.attempt], '2 h')) END
        FROM tried AS t WHERE d.ctid = t.place
        RETURNING t.delivered, t.status, t.wait
    )
    SELECT coalesce(bool_or(w.delivered), false), coalesce(bool_or(w.status = 410), false),
        make_interval(secs => max(w.wait))
    INTO ok, gone, pause FROM written AS w HAVING count(*) > 0;
    UPDATE tenant.webhook AS w SET failures = CASE WHEN ok THEN 0 ELSE w.failures + 1 END,
        failing_since = CASE WHEN NOT ok THEN coalesce(w.failing_since, now_ts) END,
        resumes_at = CASE WHEN NOT ok THEN now_ts + greatest(pause,
            least(interval '1 s' * power(2, least(w.failures + 1, 10)), interval '5 min')) END,
        disabled = CASE WHEN gone THEN 'its receiver answered 410 Gone' ELSE w.disabled END
    WHERE w.name = record_deliveries.webhook AND ok IS NOT NULL AND (NOT ok OR gone OR w.failures > 0);
    IF gone THEN
        UPDATE tenant.delivery AS d SET due_at = NULL, error = 'the webhook was disabled'
        WHERE d.webhook = record_deliveries.webhook AND d.due_at IS NOT NULL;
        PERFORM tenant.write_audit('tenure', 'worker', 'disable', 'webhook', webhook,
            'its receiver answered 410 Gone', NULL, NULL);
    END IF;
    RETURN json_build_object('delivered', coalesce(ok, false));
END $$;
