-- List webhooks by name; their secrets are not shown.
CREATE OR REPLACE FUNCTION tenant.webhooks(name text DEFAULT NULL) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(json_agg(tenant.shown_webhook(w) ORDER BY w.name), '[]') FROM tenant.webhook AS w
    WHERE webhooks.name IS NULL OR w.name = webhooks.name;
$$;
