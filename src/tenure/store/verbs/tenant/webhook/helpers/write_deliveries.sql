-- Write a delivery for every webhook that wants this event; "to_webhook" names one that gets it in any case.
-- Return whether there is one.
CREATE OR REPLACE FUNCTION tenant.write_deliveries(
    event text, job bigint, task text, data jsonb, to_webhook text DEFAULT NULL
) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    INSERT INTO tenant.delivery (webhook, message, event, job_id, body, created_at, due_at, until)
    SELECT w.name, 'msg_' || translate(gen_random_uuid()::text, '-', ''), event, job,
        jsonb_build_object('type', event, 'timestamp', now_ts, 'data', data)::text, now_ts, now_ts,
        tenant.delivery_until(now_ts)
    FROM tenant.webhook AS w
    WHERE CASE WHEN to_webhook IS NOT NULL THEN w.name = to_webhook
        ELSE w.disabled IS NULL AND coalesce(event = ANY (w.events), true)
            AND coalesce(task = ANY (w.tasks), w.tasks IS NULL) END;
    IF FOUND THEN
        PERFORM nextval('tenant.activity');  -- workers notice it
    END IF;
    RETURN FOUND;
END $$;
