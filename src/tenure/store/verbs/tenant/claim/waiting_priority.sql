-- Return the highest priority among the jobs that could be claimed now for these queues and tasks, to
-- decide whether one of them is worth the slot of a running job. Null: there is none.
CREATE OR REPLACE FUNCTION tenant.waiting_priority(
    worker uuid, queues text[] DEFAULT NULL, tasks text[] DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    caller tenure.worker;
BEGIN
    SELECT w.* INTO caller FROM tenure.worker AS w
    WHERE w.id = worker AND w.dead_at IS NULL AND w.draining_at IS NULL;
    RETURN json_build_object('priority', (
        SELECT max(o.priority) FROM tenant.ready_lanes(coalesce(queues, caller.queues), tasks, '{}',
            '{}', 1) AS o
        WHERE caller.id IS NOT NULL
          AND NOT EXISTS (SELECT FROM tenant.pause AS p WHERE p.subject = 'tenant')));
END $$;
