-- Store what these tasks declare, for these tenants ('': for all); the newest announcement wins.
--
-- Rows are written in the order of their names, so that workers that start together do not deadlock.
CREATE OR REPLACE FUNCTION tenure.write_tasks(tenants text[], tasks jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    problem text;
BEGIN
    IF jsonb_typeof(tasks) IS DISTINCT FROM 'array' OR jsonb_array_length(tasks) > {announced.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'an announcement is a list of at most {announced.max} tasks';
    END IF;
    SELECT p.problem INTO problem FROM jsonb_array_elements(tasks) AS t
    CROSS JOIN LATERAL (SELECT tenure.task_error(t.value) AS problem) AS p WHERE p.problem IS NOT NULL
    LIMIT 1;
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = problem;
    END IF;
    INSERT INTO tenure.task AS k (name, tenant, digest, executor, doc, schema, defaults, target, "unique",
        limits, compensate, first_announced_at, announced_at)
    SELECT DISTINCT ON (t.value ->> 'name', s.tenant) t.value ->> 'name', s.tenant, t.value ->> 'digest',
        t.value ->> 'executor', t.value ->> 'doc', nullif(t.value -> 'schema', 'null'),
        jsonb_strip_nulls(t.value -> 'defaults'),
        nullif(t.value -> 'target', 'null'), nullif(t.value -> 'unique', 'null'),
        nullif(nullif(t.value -> 'limits', 'null'), '[]'), t.value ->> 'compensate',
        now_ts, now_ts
    FROM jsonb_array_elements(tasks) AS t CROSS JOIN unnest(tenants) AS s(tenant)
    WHERE NOT starts_with(t.value ->> 'name', 'tenure.')  -- Tenure's own tasks are not announced
    ORDER BY 1, 2
    ON CONFLICT (name, tenant) DO UPDATE SET digest = excluded.digest, executor = excluded.executor,
        doc = excluded.doc, schema = excluded.schema, defaults = excluded.defaults, target = excluded.target,
        "unique" = excluded."unique", limits = excluded.limits, compensate = excluded.compensate,
        announced_at = greatest(k.announced_at, excluded.announced_at);
END $$;
