-- Notify idle workers that queues have jobs for them. It is also counted, so that a worker that missed the
-- notification finds the tenant by its activity (tenant_activity).
CREATE OR REPLACE FUNCTION tenant.notify_idle(queues text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM nextval('tenant.activity');
    PERFORM tenure.notify_workers('{tenant}', queues);
END $$;
