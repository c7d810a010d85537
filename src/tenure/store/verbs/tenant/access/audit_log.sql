-- Return the audit log, newest first: of everything, or of one job, queue, target, pool or worker.
CREATE OR REPLACE FUNCTION tenant.audit_log(
    subject text DEFAULT NULL, name text DEFAULT NULL, below bigint DEFAULT NULL, n integer DEFAULT 50
) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(json_agg(a), '[]') FROM (
        SELECT a.* FROM tenant.audit AS a
        WHERE (audit_log.subject IS NULL OR a.subject = audit_log.subject)
          AND (audit_log.name IS NULL OR a.name = audit_log.name)
          AND (below IS NULL OR a.id < below)
        ORDER BY a.id DESC LIMIT least(greatest(n, 0), 1000)) AS a;
$$;
