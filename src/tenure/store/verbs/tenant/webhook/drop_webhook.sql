-- Delete a webhook and all its deliveries; what is not delivered yet never will be.
CREATE OR REPLACE FUNCTION tenant.drop_webhook(
    name text, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    refusal CONSTANT json := tenant.forbidden('drop_webhook', 'admin', 'webhook', name, by, via, role);
    was     jsonb;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    was := (SELECT tenant.shown_webhook(w) FROM tenant.webhook AS w WHERE w.name = drop_webhook.name);
    -- Deliveries first, as in record_deliveries, so that the two cannot deadlock.
    DELETE FROM tenant.delivery AS d WHERE d.webhook = drop_webhook.name;
    DELETE FROM tenant.webhook AS w WHERE w.name = drop_webhook.name;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006', MESSAGE = format('there is no webhook %L', name);
    END IF;
    PERFORM tenant.write_audit(tenure.actor(by), via, 'drop', 'webhook', name, NULL, was, NULL);
    RETURN json_build_object('dropped', name);
END $$;
