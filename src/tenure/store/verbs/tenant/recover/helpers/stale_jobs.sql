-- Return jobs that were ready for longer than this and never started, although nothing was paused.
CREATE OR REPLACE FUNCTION tenant.stale_jobs(pending_after interval, ids bigint[], n integer) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN ARRAY(
        SELECT j.id FROM tenant.job AS j JOIN tenant.lane AS l ON l.id = j.lane
        WHERE j.ready AND j.started_at IS NULL AND j.run_at < tenure.now() - pending_after
          AND (ids IS NULL OR j.id = ANY (ids))
          AND NOT EXISTS (SELECT FROM tenant.pause AS p
              WHERE (p.subject, p.name) IN (('tenant', ''), ('queue', l.queue))
              OR (p.subject = 'pool' AND p.name = ANY (l.pools)))
        ORDER BY j.id LIMIT n FOR UPDATE OF j SKIP LOCKED);
END $$;
