-- Return the lane of this queue, task and pools, and of jobs with limits or without; create it if it is
-- new. Two callers that create the same
-- lane at once create it twice, which is harmless, rather than wait for each other. With "whose", for a
-- caller that is no admin, the last lanes are left to admins.
CREATE OR REPLACE FUNCTION tenant.lane_of(
    queue_name text, task_name text, pool_names text[], limits text[], whose text
) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    is_limited CONSTANT boolean := cardinality(limits) > 0 IS TRUE;
    wanted    text[] := coalesce(pool_names, '{}');
    found_id  integer;
    max_lanes integer;
BEGIN
    IF cardinality(pool_names) > 1 THEN
        wanted := ARRAY(SELECT DISTINCT p FROM unnest(pool_names) AS p ORDER BY p);
    END IF;
    SELECT min(l.id) INTO found_id FROM tenant.lane AS l
    WHERE l.queue = queue_name AND l.task IS NOT DISTINCT FROM task_name AND l.pools = wanted
      AND l.limited = is_limited;
    IF found_id IS NOT NULL AND current_setting('transaction_isolation') <> 'read committed' THEN
        -- An old snapshot may show a lane that prune has deleted since: then this fails, and is retried.
        PERFORM FROM tenant.lane AS l WHERE l.id = found_id FOR KEY SHARE;
    END IF;
    IF found_id IS NULL THEN
        IF EXISTS (SELECT FROM unnest(wanted) AS p WHERE NOT EXISTS (
                SELECT FROM tenant.pool WHERE pool.name = p)) THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
                'there is no pool %L; create it before a job draws from it',
                (SELECT p FROM unnest(wanted) AS p WHERE NOT EXISTS (
                    SELECT FROM tenant.pool WHERE pool.name = p) LIMIT 1));
        END IF;
        max_lanes := CASE WHEN whose IS NULL THEN {lanes.max} ELSE {lanes_for_all.max} END;
        IF (SELECT count(*) FROM tenant.lane) >= max_lanes THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
                'the queue %L and task %L are new, and this tenant has %s combinations of queue, '
                'task and pools already; those whose jobs are all pruned make way', queue_name, task_name,
                max_lanes);
        END IF;
        INSERT INTO tenant.lane (queue, task, pools, limited)
        VALUES (queue_name, task_name, wanted, is_limited)
        RETURNING id INTO found_id;
    END IF;
    RETURN found_id;
END $$;
