-- Return a webhook as it is shown: without its secrets.
CREATE OR REPLACE FUNCTION tenant.shown_webhook(hook tenant.webhook) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    RETURN to_jsonb(hook) - ARRAY['former_secret', 'former_until', 'failures', 'resumes_at']
        || jsonb_build_object('secret', 'whsec_...' || right(hook.secret, 5),
            'rotates_until', CASE WHEN hook.former_until > tenure.now() THEN hook.former_until END,
            'pending', (SELECT count(*) FROM tenant.delivery AS d
                WHERE d.webhook = hook.name AND d.due_at IS NOT NULL));
END $$;
