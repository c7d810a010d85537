-- Carry on an open bulk operation by up to n jobs: the oldest, those of admins first, or the one that is
-- named. Answers how far it has come, or null when there is none that nobody else carries on just now.
--
-- A database role that was admitted as an operator carries on its own alone: whoever does holds the jobs of
-- a batch until its transaction ends, and they may be those of others.
--
-- Oldest jobs first, so that what is above takes with it what is below. How far it is stands in the same
-- transaction as what it did: whoever dies in the middle has done nothing, and another goes on from there.
CREATE OR REPLACE FUNCTION tenant.advance_bulk(n integer DEFAULT 100, bulk bigint DEFAULT NULL) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    is_admin CONSTANT boolean := tenant.role_of(NULL) = 'admin';
    ours tenant.bulk;
    ids  bigint[];
    one  bigint;
    did  text;
BEGIN
    IF n IS NULL OR n NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('a batch of %s jobs is not possible; 1 to 1000 are', coalesce(n::text, 'no'));
    END IF;
    SELECT b.* INTO ours FROM tenant.bulk AS b
    WHERE b.ended_at IS NULL AND (advance_bulk.bulk IS NULL OR b.id = advance_bulk.bulk)
      AND (is_admin OR b.whose = tenure.actor(NULL))
    ORDER BY b.whose IS NOT NULL, b.id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 'null';
    END IF;
    BEGIN
        EXECUTE format(
            'SELECT ARRAY(SELECT j.id %s AND %s AND j.id > $2 AND j.id <= $3 ORDER BY j.id LIMIT $4)',
            tenant.filtered_jobs(ours.filter),
            tenant.filter_reached(ours.intent, tenant.bulk_forces(ours.options)))
        INTO ids USING ours.filter, ours.above, ours.upto, n;
    EXCEPTION WHEN OTHERS THEN
        UPDATE tenant.bulk AS b SET status = 'failed', ended_at = tenure.now(), error = sqlerrm
        WHERE b.id = ours.id RETURNING b.* INTO ours;
        RETURN to_json(ours);
    END;
    FOREACH one IN ARRAY ids LOOP
        did := tenant.act_in_bulk(ours, one);
        -- Somebody has it locked against us: the next batch begins with it.
        EXIT WHEN did = 'busy';
        ours.above := one;
        CASE did
            WHEN 'done' THEN ours.done := ours.done + 1;
            WHEN 'refused' THEN ours.refused := ours.refused + 1;
            WHEN 'over' THEN NULL;
            ELSE
                ours.failed := ours.failed + 1;
                ours.error := did;
        END CASE;
    END LOOP;
    IF cardinality(ids) < n AND did IS DISTINCT FROM 'busy' THEN
        ours.above := ours.upto;
        ours.ended_at := tenure.now();
        ours.status := CASE WHEN ours.failed > 0 THEN 'partial' ELSE 'completed' END;
    END IF;
    UPDATE tenant.bulk AS b
    SET above = ours.above, done = ours.done, refused = ours.refused, failed = ours.failed,
        error = ours.error, status = ours.status, ended_at = ours.ended_at
    WHERE b.id = ours.id;
    RETURN to_json(ours);
END $$;
