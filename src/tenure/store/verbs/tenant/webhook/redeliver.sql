-- Deliver again: one delivery, or all that a webhook was not delivered. They keep their webhook-id, so the
-- receiver recognises what it has seen. Return how many there are.
CREATE OR REPLACE FUNCTION tenant.redeliver(
    webhook text, delivery bigint DEFAULT NULL,
    by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    refusal CONSTANT json := tenant.forbidden('redeliver', 'admin', 'webhook', webhook, by, via, role);
    again   bigint;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    -- Deliveries first, as in record_deliveries, so that the two cannot deadlock.
    UPDATE tenant.delivery AS d SET due_at = now_ts, until = tenant.delivery_until(now_ts),
        delivered_at = NULL
    WHERE d.webhook = redeliver.webhook
      AND CASE WHEN delivery IS NULL THEN d.delivered_at IS NULL ELSE d.id = delivery END;
    GET DIAGNOSTICS again = ROW_COUNT;
    UPDATE tenant.webhook AS w SET resumes_at = NULL WHERE w.name = redeliver.webhook AND w.disabled IS NULL;
    IF NOT FOUND THEN
        PERFORM tenant.refuse_webhook(webhook);
    END IF;
    IF again = 0 AND delivery IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006',
            MESSAGE = format('webhook %s has no delivery %s', webhook, delivery);
    END IF;
    PERFORM nextval('tenant.activity');
    PERFORM tenant.write_audit(tenure.actor(by), via, 'redeliver', 'webhook', webhook, NULL, NULL,
        jsonb_build_object('delivery', delivery, 'deliveries', again));
    RETURN json_build_object('deliveries', again);
END $$;
