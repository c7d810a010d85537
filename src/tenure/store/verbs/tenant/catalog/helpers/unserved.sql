-- Return whether live workers serve this queue and all of them are known not to have this task.
CREATE OR REPLACE FUNCTION tenant.unserved(queue text, task text) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    RETURN (
        SELECT coalesce(bool_and(s.worker_id IS NOT NULL AND NOT s.tasks ? unserved.task), false)
        FROM tenure.worker AS w LEFT JOIN tenure.serving AS s ON s.worker_id = w.id
        WHERE w.dead_at IS NULL AND w.left_at IS NULL AND w.draining_at IS NULL AND w.expires_at > now_ts
          AND (w.queues IS NULL OR unserved.queue = ANY (w.queues))
          AND (w.tenants IS NULL OR '{tenant}' = ANY (w.tenants)));
END $$;
