-- List the deliveries of a webhook, newest first, each with its state: pending, delivered or given_up.
CREATE OR REPLACE FUNCTION tenant.deliveries(
    webhook text, below bigint DEFAULT NULL, n integer DEFAULT 50
) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(json_agg(d), '[]') FROM (
        SELECT d.id, d.webhook, d.message, d.event, d.job_id, d.body::json AS body, d.created_at, d.attempts,
            CASE WHEN d.delivered_at IS NOT NULL THEN 'delivered' WHEN d.due_at IS NULL THEN 'given_up'
                ELSE 'pending' END AS state,
            d.due_at, d.tried_at, d.delivered_at, d.status, d.error
        FROM tenant.delivery AS d
        WHERE d.webhook = deliveries.webhook AND (below IS NULL OR d.id < below)
        ORDER BY d.id DESC LIMIT tenure.batch_size(n)) AS d;
$$;
