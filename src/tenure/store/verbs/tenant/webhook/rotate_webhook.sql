-- Give a webhook a new secret, which the answer has as "new_secret". The former one signs as well for as
-- long as "keep" says, so that the receiver can change to the new one in the meantime.
CREATE OR REPLACE FUNCTION tenant.rotate_webhook(
    name text, keep interval DEFAULT '24 hours',
    by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    refusal CONSTANT json := tenant.forbidden('rotate_webhook', 'admin', 'webhook', name, by, via, role);
    made    tenant.webhook;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF keep IS NULL OR keep NOT BETWEEN interval '0' AND {webhook_keep.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'the former secret is kept for 0 seconds to 30 days';
    END IF;
    UPDATE tenant.webhook AS w SET secret = tenant.new_webhook_secret(), former_secret = w.secret,
        former_until = tenure.now() + keep
    WHERE w.name = rotate_webhook.name RETURNING w.* INTO made;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006', MESSAGE = format('there is no webhook %L', name);
    END IF;
    PERFORM tenant.write_audit(actor, via, 'rotate', 'webhook', name, NULL, NULL, tenant.shown_webhook(made));
    RETURN tenant.shown_webhook(made) || jsonb_build_object('new_secret', made.secret);
END $$;
