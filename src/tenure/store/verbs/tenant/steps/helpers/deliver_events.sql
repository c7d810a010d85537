-- End the waits of these jobs, which are locked, for which an event was published: since they began, however
-- briefly it is kept, or before that and within its retention. A job gets each event once.
CREATE OR REPLACE FUNCTION tenant.deliver_events(ids bigint[], now_ts timestamptz) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    UPDATE tenant.job_step AS s SET
        value = p.payload, publication_id = p.id, answered_by = p.published_by, ended_at = now_ts
    FROM tenant.job_step AS w CROSS JOIN LATERAL (
        SELECT e.* FROM tenant.publication AS e
        WHERE e.name = w.event AND e.key = w.key
          AND (e.expires_at > now_ts OR e.published_at >= w.started_at)
          AND NOT EXISTS (SELECT FROM tenant.job_step AS o
              WHERE o.job_id = w.job_id AND o.publication_id = e.id)
        ORDER BY e.id LIMIT 1) AS p
    WHERE w.job_id = ANY (ids) AND w.ended_at IS NULL AND w.event IS NOT NULL
      AND s.job_id = w.job_id AND s.name = w.name;
END $$;
