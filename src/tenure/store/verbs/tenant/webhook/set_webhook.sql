-- Create a webhook, or replace the URL and the filters of one, which enables it again. Null events or tasks
-- mean all of them.
--
-- The answer has "new_secret" if the webhook is new: it is not shown again. A webhook that is replaced keeps
-- its secret and what is still to be delivered.
CREATE OR REPLACE FUNCTION tenant.set_webhook(
    name text, url text, events text[] DEFAULT NULL, tasks text[] DEFAULT NULL,
    by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    refusal CONSTANT json := tenant.forbidden('set_webhook', 'admin', 'webhook', name, by, via, role);
    problem CONSTANT text := tenant.webhook_error(name, url, events, tasks);
    before  jsonb;
    made    tenant.webhook;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = problem;
    ELSIF (SELECT count(*) FROM tenant.webhook AS w WHERE w.name <> set_webhook.name) >= {webhooks.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a tenant has at most {webhooks.max} webhooks';
    END IF;
    before := (SELECT tenant.shown_webhook(w) FROM tenant.webhook AS w WHERE w.name = set_webhook.name);
    INSERT INTO tenant.webhook AS w (name, url, events, tasks, secret, created_at, created_by)
    VALUES (set_webhook.name, set_webhook.url, set_webhook.events, set_webhook.tasks,
        tenant.new_webhook_secret(), tenure.now(), actor)
    ON CONFLICT ON CONSTRAINT webhook_pkey DO UPDATE SET url = excluded.url, events = excluded.events,
        tasks = excluded.tasks, disabled = NULL, failures = 0, failing_since = NULL, resumes_at = NULL
    RETURNING w.* INTO made;
    PERFORM tenant.write_audit(actor, via, 'set', 'webhook', name, NULL, before, tenant.shown_webhook(made));
    RETURN tenant.shown_webhook(made)
        || CASE WHEN before IS NULL THEN jsonb_build_object('new_secret', made.secret) ELSE '{}' END;
END $$;
