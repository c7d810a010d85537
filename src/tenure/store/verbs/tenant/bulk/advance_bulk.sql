-- Continue an open bulk operation by up to n jobs: the named one, or the oldest, those of admins first.
-- Return its progress, or null if there is none that is not being continued by another caller.
--
-- A database role that was admitted as an operator continues only its own operations, because the caller
-- holds the jobs of a batch until its transaction ends, and they may belong to others.
--
-- Oldest jobs first, so that a parent takes its children with it. The progress is written in the
-- transaction of the batch: if the caller dies in the middle nothing was done, and another caller continues
-- from there.
CREATE OR REPLACE FUNCTION tenant.advance_bulk(n integer DEFAULT 100, bulk bigint DEFAULT NULL) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    is_admin  CONSTANT boolean := tenant.role_of(NULL) = 'admin';
    operation tenant.bulk;
    ids       bigint[];
    next_id   bigint;
    did       text;
BEGIN
    IF n IS NULL OR n NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('a batch of %s jobs is not possible; 1 to 1000 are', coalesce(n::text, 'no'));
    END IF;
    SELECT b.* INTO operation FROM tenant.bulk AS b
    WHERE b.ended_at IS NULL AND (advance_bulk.bulk IS NULL OR b.id = advance_bulk.bulk)
      AND (is_admin OR b.whose = tenure.actor(NULL))
    ORDER BY b.whose IS NOT NULL, b.id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 'null';
    END IF;
    BEGIN
        EXECUTE format(
            'SELECT ARRAY(SELECT j.id %s AND %s AND j.id > $2 AND j.id <= $3 ORDER BY j.id LIMIT $4)',
            tenant.filtered_jobs(operation.filter),
            tenant.filter_reached(operation.intent, tenant.bulk_forces(operation.options)))
        INTO ids USING operation.filter, operation.above, operation.upto, n;
    EXCEPTION WHEN OTHERS THEN
        UPDATE tenant.bulk AS b SET status = 'failed', ended_at = tenure.now(), error = sqlerrm
        WHERE b.id = operation.id RETURNING b.* INTO operation;
        RETURN to_json(operation);
    END;
    FOREACH next_id IN ARRAY ids LOOP
        did := tenant.act_in_bulk(operation, next_id);
        -- Another transaction holds the job: the next batch begins with it.
        EXIT WHEN did = 'busy';
        operation.above := next_id;
        CASE did
            WHEN 'done' THEN operation.done := operation.done + 1;
            WHEN 'refused' THEN operation.refused := operation.refused + 1;
            WHEN 'over' THEN NULL;
            ELSE
                operation.failed := operation.failed + 1;
                operation.error := did;
        END CASE;
    END LOOP;
    IF cardinality(ids) < n AND did IS DISTINCT FROM 'busy' THEN
        operation.above := operation.upto;
        operation.ended_at := tenure.now();
        operation.status := CASE WHEN operation.failed > 0 THEN 'partial' ELSE 'completed' END;
    END IF;
    UPDATE tenant.bulk AS b
    SET above = operation.above, done = operation.done, refused = operation.refused,
        failed = operation.failed,
        error = operation.error, status = operation.status, ended_at = operation.ended_at
    WHERE b.id = operation.id;
    RETURN to_json(operation);
END $$;
