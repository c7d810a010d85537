-- Send a webhook an event of the type webhook.test; the answer is its delivery, which a worker makes soon.
CREATE OR REPLACE FUNCTION tenant.test_webhook(
    name text, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    refusal CONSTANT json := tenant.forbidden('test_webhook', 'admin', 'webhook', name, by, via, role);
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    -- A test does not wait until the receiver is tried again.
    UPDATE tenant.webhook AS w SET resumes_at = NULL WHERE w.name = test_webhook.name AND w.disabled IS NULL;
    IF NOT FOUND THEN
        PERFORM tenant.refuse_webhook(name);
    END IF;
    PERFORM tenant.write_deliveries('webhook.test', NULL, NULL,
        jsonb_build_object('tenant', '{tenant}', 'webhook', name, 'requested_by', actor), to_webhook => name);
    PERFORM tenant.write_audit(actor, via, 'test', 'webhook', name, NULL, NULL, NULL);
    RETURN tenant.deliveries(name, n => 1) -> 0;
END $$;
