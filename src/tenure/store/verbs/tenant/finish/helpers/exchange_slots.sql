-- Take slots for running jobs ("take": pools) and release slots ("give": pools). A job holds one slot of a
-- pool, however often it asks; if none is free, it must ask again.
CREATE OR REPLACE FUNCTION tenant.exchange_slots(reports jsonb, now_ts timestamptz) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wish    record;
    got     text;
    granted jsonb := '{}';
BEGIN
    UPDATE tenant.slot AS s SET job_id = NULL, held_at = NULL
    FROM jsonb_to_recordset(reports) AS r(job bigint, give jsonb)
    WHERE s.job_id = r.job AND r.give ? s.pool;
    IF FOUND THEN
        PERFORM tenant.notify_idle(
            ARRAY(SELECT DISTINCT l.queue FROM tenant.lane AS l WHERE l.pools <> '{}'));
    END IF;
    FOR wish IN
        SELECT r.job, p.pool FROM jsonb_to_recordset(reports) AS r(job bigint, take jsonb)
        CROSS JOIN LATERAL jsonb_array_elements_text(r.take) AS p(pool)
    LOOP
        SELECT s.name INTO got FROM tenant.slot AS s WHERE s.pool = wish.pool AND s.job_id = wish.job;
        IF NOT FOUND THEN
            UPDATE tenant.slot AS s SET job_id = wish.job, held_at = now_ts
            WHERE (s.pool, s.name) = (SELECT f.pool, f.name FROM tenant.slot AS f
                WHERE f.pool = wish.pool AND f.job_id IS NULL
                AND NOT EXISTS (SELECT FROM tenant.pause AS p WHERE p.subject = 'pool' AND p.name = f.pool)
                ORDER BY f.name LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING s.name INTO got;
        END IF;
        IF got IS NOT NULL THEN
            granted := granted || jsonb_build_object(wish.job,
                coalesce(granted -> wish.job::text, '{}') || jsonb_build_object(wish.pool, got));
        END IF;
    END LOOP;
    RETURN granted;
END $$;
