-- Tell idle workers that queues have something for them. It is also counted, so that who heard nothing finds
-- the tenant among those in which something has happened (tenure.stirs).
CREATE OR REPLACE FUNCTION tenant.notify_idle(queues text[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM nextval('tenant.turn');
    PERFORM tenure.notify_workers('{tenant}', queues);
END $$;
