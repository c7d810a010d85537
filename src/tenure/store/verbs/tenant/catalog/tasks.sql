-- List the known tasks by name, as the newest announcement of each declares; with a name, only that one.
--
-- "serving" holds the digests that live workers have of the task, and how many workers have each: two
-- digests during a deployment.
CREATE OR REPLACE FUNCTION tenant.tasks(name text DEFAULT NULL) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    RETURN (
        WITH known AS (
            SELECT DISTINCT ON (t.name) t.* FROM tenure.task AS t
            WHERE t.tenant IN ('', '{tenant}') AND (tasks.name IS NULL OR t.name = tasks.name)
            ORDER BY t.name, t.announced_at DESC
        ), served AS (
            SELECT d.key AS name, d.value AS digest, count(*) AS workers
            FROM tenure.worker AS w JOIN tenure.serving AS s ON s.worker_id = w.id
            CROSS JOIN LATERAL jsonb_each_text(s.tasks) AS d
            WHERE w.dead_at IS NULL AND w.left_at IS NULL AND w.expires_at > now_ts
              AND (w.tenants IS NULL OR '{tenant}' = ANY (w.tenants))
              AND (tasks.name IS NULL OR d.key = tasks.name)
            GROUP BY d.key, d.value
        )
        SELECT coalesce(json_agg(json_build_object(
            'name', k.name, 'digest', k.digest, 'executor', k.executor, 'doc', k.doc, 'schema', k.schema,
            'options', k.defaults, 'target', k.target ->> 'text', 'unique', k."unique" ->> 'text',
            'limits', (SELECT coalesce(json_agg(l ->> 'text'), '[]')
                FROM jsonb_array_elements(k.limits) AS l),
            'compensate', k.compensate, 'everywhere', k.tenant = '',
            'first_announced_at', k.first_announced_at, 'announced_at', k.announced_at,
            'serving', (SELECT coalesce(json_agg(json_build_object('digest', s.digest, 'workers', s.workers)
                ORDER BY s.digest), '[]') FROM served AS s WHERE s.name = k.name)) ORDER BY k.name), '[]')
        FROM known AS k);
END $$;
