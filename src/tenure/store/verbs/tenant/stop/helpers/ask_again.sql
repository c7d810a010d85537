-- Asking for the same stop again: the same record answers; more force or less grace escalates it, another
-- word about its artifacts counts, and a rollback that was not asked for before is added.
CREATE OR REPLACE FUNCTION tenant.ask_again(
    current tenant.cancellation, harder boolean, sooner interval, keeping boolean, undo boolean,
    undo_tasks bigint[], why text, actor text, via text
) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- Named tasks beside all of them are no more than all; more names are added to those there were.
    undoing CONSTANT bigint[] := CASE
        WHEN NOT undo OR (current.rollback AND current.rollback_tasks IS NULL) THEN current.rollback_tasks
        WHEN undo_tasks IS NOT NULL
            THEN ARRAY(SELECT DISTINCT t FROM unnest(current.rollback_tasks || undo_tasks) AS t ORDER BY t)
                END;
    changed tenant.cancellation;
BEGIN
    -- The jobs before their signals: finish comes in this order too.
    PERFORM tenant.lock_tree(
        ARRAY(SELECT m.job_id FROM tenant.member AS m WHERE m.stop_id = current.id AND m.ended_at IS NULL));
    UPDATE tenant.cancellation AS c SET
        force = c.force OR harder,
        grace = least(c.grace, sooner),
        last_rung = CASE WHEN harder THEN 'killed' ELSE c.last_rung END,
        preserve = coalesce(keeping, c.preserve),
        rollback = c.rollback OR undo, rollback_tasks = undoing
    WHERE c.id = current.id
      AND ((harder AND NOT c.force) OR (undo AND NOT c.rollback)
      OR (sooner IS NOT NULL AND (c.grace IS NULL OR sooner < c.grace))
        OR (keeping IS NOT NULL AND keeping IS DISTINCT FROM c.preserve)
        OR undoing IS DISTINCT FROM c.rollback_tasks)
    RETURNING c.* INTO changed;
    IF FOUND THEN
        UPDATE tenure.signal AS s SET orders = tenant.orders(changed)
        FROM tenant.member AS m
        WHERE m.stop_id = changed.id AND m.ended_at IS NULL AND s.tenant = '{tenant}' AND s.job_id = m.job_id
          AND s.orders ->> 'cancellation_id' = tenant.cancellation_name(changed.id, changed.intent);
        PERFORM pg_notify('tenure_' || w.id, 'orders') FROM (
            SELECT DISTINCT m.worker_id AS id FROM tenant.member AS m
            WHERE m.stop_id = changed.id AND m.ended_at IS NULL AND m.worker_id IS NOT NULL) AS w;
        PERFORM tenant.write_audit(actor, via,
            CASE WHEN harder THEN 'force' WHEN undo THEN 'rollback'
            WHEN sooner IS NOT NULL THEN 'hurry' ELSE 'preserve' END,
            'job', changed.job_id::text, why, tenant.orders(current), tenant.orders(changed));
        IF undo AND (NOT current.rollback OR undoing IS DISTINCT FROM current.rollback_tasks) THEN
            PERFORM tenant.enqueue_rollback(changed, undo_tasks, via);
        END IF;
    END IF;
    RETURN tenant.cancellation_report(current.id, again => true);
END $$;
