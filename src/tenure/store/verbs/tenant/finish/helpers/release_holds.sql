-- Release what jobs held that left "running" or ended, and leave wakes for the jobs that this may concern.
-- Return whether there is something to promote.
CREATE OR REPLACE FUNCTION tenant.release_holds(done bigint[], ended bigint[], parents bigint[],
    targets text[]) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
DECLARE
    woken boolean := false;
BEGIN
    IF coalesce(done, ended, parents) IS NULL AND targets IS NULL THEN
        RETURN false;
    END IF;
    -- A separate statement: it sees an edge that was committed while the rows above were locked.
    INSERT INTO tenant.wake (job_id, needed)
    SELECT e.job_id, array_agg(e.needs_id) FROM tenant.edge AS e WHERE e.needs_id = ANY (ended)
    GROUP BY e.job_id;
    woken := FOUND;
    IF parents IS NOT NULL THEN
        -- Also all ancestors: they wait for all their descendants.
        INSERT INTO tenant.wake (job_id)
        SELECT DISTINCT a FROM unnest(parents || tenant.ancestors_of(parents)) AS a;
        woken := true;
    END IF;
    IF targets IS NOT NULL THEN
        INSERT INTO tenant.wake (target) SELECT DISTINCT t FROM unnest(targets) AS t;
        woken := true;
    END IF;
    IF (SELECT true FROM tenant.limit_grant LIMIT 1) THEN
        woken := tenant.return_grants(done) OR woken;
    END IF;
    IF (SELECT true FROM tenant.reservation LIMIT 1) THEN
        PERFORM tenant.charge_reservations(done);
    END IF;
    IF (SELECT true FROM tenant.webhook LIMIT 1) THEN
        woken := tenant.announce_jobs(done) OR woken;
    END IF;
    PERFORM FROM tenant.slot AS s WHERE s.job_id = ANY (done) ORDER BY s.pool, s.name FOR UPDATE;
    UPDATE tenant.slot AS s SET job_id = NULL, held_at = NULL WHERE s.job_id = ANY (done);
    IF FOUND THEN
        PERFORM tenant.notify_idle(
            ARRAY(SELECT DISTINCT l.queue FROM tenant.lane AS l WHERE l.pools <> '{}'));
    END IF;
    RETURN woken;
END $$;
