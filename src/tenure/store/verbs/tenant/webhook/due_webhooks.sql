-- Return the webhooks that something can be sent to now, and the seconds until the next one; null: none.
CREATE OR REPLACE FUNCTION tenant.due_webhooks() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    RETURN (
        SELECT json_build_object(
            'names', coalesce(json_agg(w.name ORDER BY w.at) FILTER (WHERE w.at <= now_ts), '[]'),
            'next_due', min(tenure.seconds_between(now_ts, w.at)) FILTER (WHERE w.at > now_ts))
        FROM (SELECT w.name, greatest(w.resumes_at, (
                SELECT min(d.due_at) FROM tenant.delivery AS d WHERE d.webhook = w.name
                    AND d.due_at IS NOT NULL)) AS at
            FROM tenant.webhook AS w
            WHERE EXISTS (SELECT FROM tenant.delivery AS d
                WHERE d.webhook = w.name AND d.due_at IS NOT NULL)) AS w);
END $$;
