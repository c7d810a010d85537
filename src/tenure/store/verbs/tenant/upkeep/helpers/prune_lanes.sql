-- Delete queues and tasks that have no jobs any more, so that invented names do not accumulate. A few are
-- left alone: they cost nothing, and the same names come back.
--
-- An enqueue reads the table of lanes before it inserts the job, and keeps a reader's lock until its
-- commit. So a transaction that has this table to itself sees every job of every lane that was found
-- before. If others hold the table, pruning is left to the next time.
CREATE OR REPLACE FUNCTION tenant.prune_lanes(few integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
    unused integer[];
    gone   integer := 0;
BEGIN
    IF (SELECT count(*) FROM tenant.lane) <= few THEN
        RETURN 0;
    END IF;
    unused := ARRAY(SELECT l.id FROM tenant.lane AS l
        WHERE NOT EXISTS (SELECT FROM tenant.job AS j WHERE j.lane = l.id));
    IF unused <> '{}' THEN
        LOCK TABLE tenant.lane IN ACCESS EXCLUSIVE MODE;
        DELETE FROM tenant.lane AS l
        WHERE l.id = ANY (unused) AND NOT EXISTS (SELECT FROM tenant.job AS j WHERE j.lane = l.id);
        GET DIAGNOSTICS gone = ROW_COUNT;
    END IF;
    RETURN gone;
EXCEPTION WHEN lock_not_available THEN
    RETURN 0;
END $$;
