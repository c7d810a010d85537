-- The lane of jobs of this queue, task and pools; made when it is new. Two callers who make the
-- same lane at once make it twice, which harms nobody, rather than wait for each other.
CREATE OR REPLACE FUNCTION tenant.lane_of(queue_name text, task_name text, pool_names text[])
RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wanted text[] := coalesce(pool_names, '{}');
    found_id integer;
BEGIN
    IF cardinality(pool_names) > 1 THEN
        wanted := ARRAY(SELECT DISTINCT p FROM unnest(pool_names) AS p ORDER BY p);
    END IF;
    SELECT min(l.id) INTO found_id FROM tenant.lane AS l
    WHERE l.queue = queue_name AND l.task IS NOT DISTINCT FROM task_name AND l.pools = wanted;
    IF found_id IS NULL THEN
        IF EXISTS (SELECT FROM unnest(wanted) AS p WHERE NOT EXISTS (
                SELECT FROM tenant.pool WHERE pool.name = p)) THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
                'there is no pool %L; create it before a job draws from it',
                (SELECT p FROM unnest(wanted) AS p WHERE NOT EXISTS (
                    SELECT FROM tenant.pool WHERE pool.name = p) LIMIT 1));
        END IF;
        INSERT INTO tenant.lane (queue, task, pools) VALUES (queue_name, task_name, wanted)
        RETURNING id INTO found_id;
    END IF;
    RETURN found_id;
END $$;
