-- Notify idle workers that there are jobs for them. NOTIFY serialises commits, so only workers are notified
-- that wanted more jobs than there were. Each worker listens on a channel of its own.
CREATE OR REPLACE FUNCTION tenure.notify_workers(tenant text, names text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('tenure_' || w.id, 'jobs ' || notify_workers.tenant)
    FROM tenure.worker AS w
    WHERE w.idle AND w.dead_at IS NULL AND w.left_at IS NULL
      AND (w.queues IS NULL OR w.queues && names)
      AND (w.tenants IS NULL OR notify_workers.tenant = ANY (w.tenants))
    LIMIT 8;
END $$;
