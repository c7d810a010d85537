-- Return approximately the id of the first job that was created from this time on: at most 10,000 too low.
--
-- Ids are drawn when jobs are created, so ids and times rise together, except for jobs enqueued at the same
-- time and for a clock that was set back. Callers leave room for that.
CREATE OR REPLACE FUNCTION tenant.id_at(now_ts timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    near   CONSTANT bigint := 10000;
    low    bigint := (SELECT min(j.id) FROM tenant.job AS j);
    high   bigint := (SELECT max(j.id) FROM tenant.job AS j);
    middle bigint;
BEGIN
    WHILE high - low > near LOOP
        middle := low + (high - low) / 2;
        IF (SELECT j.created_at FROM tenant.job AS j WHERE j.id >= middle ORDER BY j.id LIMIT 1) < now_ts THEN
            low := middle;
        ELSE
            high := middle;
        END IF;
    END LOOP;
    RETURN coalesce(low, 0);
END $$;
