-- Refuse to send something to this webhook, which does not exist or is disabled.
CREATE OR REPLACE FUNCTION tenant.refuse_webhook(name text) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    why CONSTANT text := (SELECT w.disabled FROM tenant.webhook AS w WHERE w.name = refuse_webhook.name);
BEGIN
    IF why IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('webhook %s is disabled: %s; set it again to enable it', name, why);
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'TN006', MESSAGE = format('there is no webhook %L', name);
END $$;
