-- Return the record of the same stop when it is asked for again: more force or less grace escalates it,
-- another choice about its artifacts replaces the first, and a rollback that was not asked for before is
-- added.
CREATE OR REPLACE FUNCTION tenant.repeat_stop(
    current tenant.cancellation, options tenure.stop_options, why text, actor text, via text
) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- Named children added to "all" are still all; further names are added to the previous ones.
    undoing CONSTANT bigint[] := CASE
        WHEN NOT options.rollback OR (current.rollback AND current.rollback_tasks IS NULL)
            THEN current.rollback_tasks
        WHEN options.rollback_tasks IS NOT NULL THEN ARRAY(
            SELECT DISTINCT t FROM unnest(current.rollback_tasks || options.rollback_tasks) AS t ORDER BY t)
        END;
    changed tenant.cancellation;
BEGIN
    -- Lock jobs before their signals, in the same order as finish.
    PERFORM tenant.lock_tree(
        ARRAY(SELECT m.job_id FROM tenant.member AS m WHERE m.stop_id = current.id AND m.ended_at IS NULL));
    UPDATE tenant.cancellation AS c SET
        force = c.force OR options.force,
        grace = least(c.grace, options.grace),
        last_rung = CASE WHEN options.force THEN 'killed' ELSE c.last_rung END,
        preserve = coalesce(options.preserve, c.preserve),
        rollback = c.rollback OR options.rollback, rollback_tasks = undoing
    WHERE c.id = current.id
      AND ((options.force AND NOT c.force) OR (options.rollback AND NOT c.rollback)
        OR (options.grace IS NOT NULL AND (c.grace IS NULL OR options.grace < c.grace))
        OR (options.preserve IS NOT NULL AND options.preserve IS DISTINCT FROM c.preserve)
        OR undoing IS DISTINCT FROM c.rollback_tasks)
    RETURNING c.* INTO changed;
    IF FOUND THEN
        UPDATE tenure.signal AS s SET orders = tenant.stop_orders(changed)
        FROM tenant.member AS m
        WHERE m.stop_id = changed.id AND m.ended_at IS NULL AND s.tenant = '{tenant}' AND s.job_id = m.job_id
          AND s.orders ->> 'cancellation_id' = tenant.cancellation_name(changed.id, changed.intent);
        PERFORM pg_notify('tenure_' || w.id, 'orders') FROM (
            SELECT DISTINCT m.worker_id AS id FROM tenant.member AS m
            WHERE m.stop_id = changed.id AND m.ended_at IS NULL AND m.worker_id IS NOT NULL) AS w;
        PERFORM tenant.write_audit(actor, via,
            CASE WHEN options.force THEN 'force' WHEN options.rollback THEN 'rollback'
            WHEN options.grace IS NOT NULL THEN 'hurry' ELSE 'preserve' END,
            'job', changed.job_id::text, why, tenant.stop_orders(current), tenant.stop_orders(changed));
        IF options.rollback AND (NOT current.rollback OR undoing IS DISTINCT FROM current.rollback_tasks) THEN
            PERFORM tenant.enqueue_rollback(changed, options.rollback_tasks, via);
        END IF;
    END IF;
    RETURN tenant.cancellation_report(current.id, again => true);
END $$;
