-- Enqueue the same job many times with different arguments: the fast way in.
--
-- "arguments" is a list of argument objects, "shared" the rest of the job. Jobs that need a check of their
-- own (keys, parents, dependencies) take the ordinary way.
CREATE OR REPLACE FUNCTION tenant.enqueue_many(
    arguments jsonb, shared jsonb, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL,
    declared boolean DEFAULT false
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    known   CONSTANT tenure.task := CASE WHEN NOT declared THEN tenant.known_task(shared ->> 'task') END;
    d       tenure.draft;
    lane_id integer;
    due     timestamptz;
    waits   tenure.reason;
    names   text;
    refusal json;
    answer  json;
    problem text;
    ids     json;
BEGIN
    IF jsonb_typeof(arguments) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'enqueue_many takes a list of arguments, each a JSON object';
    END IF;
    IF shared ?| ARRAY['parent', 'after', 'unique', 'idempotency', 'target', 'key']
        OR shared -> 'task' IS NULL
            OR NOT declared AND (known.name IS NULL OR known.target IS NOT NULL
                OR known."unique" IS NOT NULL OR known.limits @? '$[*].parts[*].field') THEN
        answer := tenant.enqueue((SELECT coalesce(jsonb_agg(jsonb_build_object('args', a)), '[]')
            FROM jsonb_array_elements(arguments) AS a), shared, by, via, role, declared);
        IF json_typeof(answer) = 'object' THEN
            RETURN answer;  -- forbidden
        END IF;
        RETURN (SELECT coalesce(json_agg(e -> 'id'), '[]') FROM json_array_elements(answer) AS e);
    END IF;
    d := (tenant.drafts('[{}]',
        CASE WHEN declared THEN shared ELSE tenure.apply_declaration(shared, known) END))[1];
    refusal := tenant.forbidden_drafts(ARRAY[d], by, via, role);
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    problem := (
        SELECT tenure.validation_error(jsonb_populate_record(d, jsonb_build_object('args', a)))
        FROM jsonb_array_elements(arguments) AS a
        WHERE jsonb_typeof(a) <> 'object' OR pg_column_size(a) > {args.max}
            OR tenure.json_error(a) IS NOT NULL LIMIT 1);
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a job of the call ' || problem;
    END IF;
    due := CASE WHEN d.run_at >= '9999-12-31 00:00+00' THEN NULL
        WHEN d.delay IS NOT NULL THEN now_ts + d.delay ELSE coalesce(d.run_at, now_ts) END;
    waits := CASE WHEN due IS NULL THEN 'unqueued' ELSE tenure.waiting_for(due, now_ts, NULL) END;
    IF waits IS NULL AND tenant.has_line(d.limits) THEN
        waits := 'limit';
        INSERT INTO tenant.wake (limit_name) VALUES (d.limits[1]);
    END IF;
    lane_id := tenant.lane_of(d.queue, d.task, d.pools, d.limits,
        CASE WHEN tenant.role_of(role) <> 'admin' THEN tenure.actor(by) END);
    names := CASE WHEN d.owner IS NULL THEN tenure.actor(by) ELSE tenure.actor(d.owner) END;

    WITH draft AS MATERIALIZED (
        SELECT nextval('tenant.job_id_seq') AS id, a AS args FROM jsonb_array_elements(arguments) AS a
    ), kept AS (
        INSERT INTO tenant.payload (job_id, args, options, budget, owner, tags)
        SELECT draft.id, draft.args, tenure.with_timestamp(d.options, 'deadline', now_ts), d.budget, names,
            d.tags
        FROM draft
    ), born AS (
        INSERT INTO tenant.job (id, root_id, position, run_at, created_at, lane, waiting, priority,
            max_attempts, ready, orphan_fails, limits)
        OVERRIDING SYSTEM VALUE
        SELECT draft.id, draft.id,
            CASE WHEN coalesce(waits, 'limit') = 'limit' THEN nextval('tenant.activity') ELSE 0 END, due,
            now_ts, lane_id, waits, d.priority, d.max_attempts, waits IS NULL, d.orphan = 'fail',
            nullif(d.limits, '{}')
        FROM draft
        RETURNING id
    )
    SELECT coalesce(json_agg(born.id), '[]') INTO ids FROM born;
    PERFORM tenant.notify_idle(ARRAY[d.queue]);
    RETURN ids;
END $$;
