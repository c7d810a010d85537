-- List workers, the longest alive first, with the jobs that each holds. With "all" also those that are dead
-- or have left, as long as they are kept. Only workers that may run jobs of a tenant that the caller can
-- see; with "of_tenant" only what concerns this tenant.
--
-- A worker is late when its lease has expired and it has not been declared dead. Jobs are shown to callers
-- that their tenant shows them to, at most a hundred per worker and tenant.
CREATE OR REPLACE FUNCTION tenure.workers("all" boolean DEFAULT false, of_tenant text DEFAULT NULL)
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{plain_index_scans} AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    ids    CONSTANT uuid[] := ARRAY(
        SELECT w.id FROM tenure.worker AS w
        WHERE (workers."all" OR (w.dead_at IS NULL AND w.left_at IS NULL))
          AND tenure.can_see_worker(w.tenants)
          AND (of_tenant IS NULL OR w.tenants IS NULL OR of_tenant = ANY (w.tenants))
        ORDER BY w.dead_at IS NOT NULL, w.started_at DESC LIMIT 1000);
    place  tenure.tenant;
    part   jsonb;
    held   jsonb := '{}';
BEGIN
    FOR place IN
        SELECT t.* FROM tenure.tenant AS t
        WHERE has_function_privilege(session_user, format('%I.show(bigint)', t.schema), 'EXECUTE')
          AND (of_tenant IS NULL OR t.name = of_tenant) ORDER BY t.name
    LOOP
        EXECUTE format($held$
            SELECT jsonb_object_agg(h.id, h.jobs) FROM (
                SELECT w.id, jsonb_agg(jsonb_build_object('tenant', $2, 'job_id', j.id, 'task', j.task,
                    'since', j.started_at)
                    ORDER BY j.started_at, j.id) AS jobs
                FROM unnest($1) AS w(id) CROSS JOIN LATERAL (
                    SELECT o.id, l.task, o.started_at FROM %1$I.job AS o JOIN %1$I.lane AS l ON l.id = o.lane
                    WHERE o.worker_id = w.id AND o.state = 'running' LIMIT 100) AS j
                GROUP BY w.id) AS h
            $held$, place.schema) INTO part USING ids, place.name;
        held := held || coalesce((SELECT jsonb_object_agg(s.key, coalesce(held -> s.key, '[]') || s.value)
            FROM jsonb_each(part) AS s), '{}');
    END LOOP;
    RETURN (SELECT coalesce(json_agg(json_build_object(
            'id', w.id, 'host', w.host, 'pid', w.pid, 'queues', w.queues,
            'status', CASE WHEN w.left_at IS NOT NULL THEN 'left' WHEN w.dead_at IS NOT NULL THEN 'dead'
                WHEN w.expires_at < now_ts THEN 'late'
                WHEN w.draining_at IS NOT NULL THEN 'draining' ELSE 'alive' END,
            'started_at', w.started_at, 'beat_at', w.beat_at, 'expires_at', w.expires_at, 'draining_at',
            w.draining_at, 'jobs', coalesce(held -> w.id::text, '[]')) ORDER BY w.started_at, w.id), '[]')
        FROM tenure.worker AS w WHERE w.id = ANY (ids));
END $$;
