-- List open stops, oldest first: the highest rung among what still runs, and how much grace each of its
-- jobs has of its own. A grace or a last rung of null means that the settings of its worker apply.
CREATE OR REPLACE FUNCTION tenant.stops(n integer DEFAULT 50) RETURNS json
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(json_agg(json_build_object(
        'cancellation_id', tenant.cancellation_name(c.id, c.intent), 'job_id', c.root_id,
        'task_id', CASE WHEN c.job_id <> c.root_id THEN c.job_id END,
        'intent', c.intent, 'reason', c.reason, 'initiated_by', c.initiated_by,
        'seconds', tenure.seconds_between(c.initiated_at, tenure.now()),
        'force', c.force, 'grace', tenure.bounded_seconds(c.grace, {grace.max}),
        'last_rung', c.last_rung, 'status', c.status,
        'tasks_open', open.tasks, 'rung', open.rung, 'graces', open.graces, 'last_rungs', open.last_rungs)
        ORDER BY c.id), '[]')
    FROM (SELECT c.* FROM tenant.cancellation AS c WHERE c.completed_at IS NULL ORDER BY c.id
        LIMIT least(greatest(n, 0), 1000)) AS c
    CROSS JOIN LATERAL (
        SELECT count(*) AS tasks, max(r.rung) AS rung,
            coalesce(json_agg(DISTINCT p.options ->> 'grace') FILTER (WHERE m.was = 'running'),
                '[]') AS graces,
            coalesce(json_agg(DISTINCT p.options ->> 'last_rung') FILTER (WHERE m.was = 'running'
                AND coalesce(p.options ->> 'last_rung', 'killed')
                    IN ('asked', 'interrupted', 'terminated', 'killed')), '[]') AS last_rungs
        FROM tenant.member AS m
        LEFT JOIN tenant.payload AS p ON p.job_id = m.job_id
        LEFT JOIN LATERAL (
            SELECT max(k.rung::tenure.rung) AS rung FROM jsonb_object_keys(m.reached) AS k(rung)
            WHERE k.rung = ANY (enum_range(NULL::tenure.rung)::text[])) AS r ON true
        WHERE m.stop_id = c.id AND m.ended_at IS NULL) AS open;
$$;
