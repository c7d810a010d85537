-- The highest priority among the jobs that could be claimed now for these queues and tasks: whether one
-- of them is worth the slot of another that runs. Null: there is none.
CREATE OR REPLACE FUNCTION tenant.waiting_priority(
    worker uuid, queues text[] DEFAULT NULL, tasks text[] DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    ours tenure.worker;
BEGIN
    SELECT w.* INTO ours FROM tenure.worker AS w
    WHERE w.id = worker AND w.dead_at IS NULL AND w.draining_at IS NULL;
    RETURN json_build_object('priority', (
        SELECT max(o.priority) FROM tenant.open_places(coalesce(queues, ours.queues), tasks, '{}', '{}') AS o
        WHERE ours.id IS NOT NULL AND NOT EXISTS (SELECT FROM tenant.pause AS p WHERE p.subject = 'tenant')));
END $$;
