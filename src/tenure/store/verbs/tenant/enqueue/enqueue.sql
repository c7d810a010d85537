-- Enqueue a job, many jobs, or a job with its children and their dependencies.
--
-- "jobs" is a job or a list of jobs, "shared" the fields they have in common. A job names its parent and
-- the jobs it comes after by id, or by the key of a job that precedes it in the same call. The option
-- "deadline" is a timestamp, or a number of seconds from now.
--
-- Fields that a job does not have are taken from its task's newest announcement; a job of a task that is
-- not announced waits for that. A caller that has the task itself passes all fields, and "declared".
--
-- A unique and an idempotency key belong to the owner of the job: the same key of another owner is another
-- key. With the "key_scope" tenant, which is for admins, they belong to the whole tenant.
--
-- Runs in the caller's transaction and locks no existing row. A job with a unique or an idempotency key may
-- wait for the commit of another caller with the same key; keys are taken in order, so two callers never
-- deadlock.
CREATE OR REPLACE FUNCTION tenant.enqueue(
    jobs jsonb, shared jsonb DEFAULT '{}', by text DEFAULT NULL, via text DEFAULT 'sql',
    role text DEFAULT NULL, declared boolean DEFAULT false
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    actor   CONSTANT text := tenure.actor(by);
    -- null: no restriction
    whose   CONSTANT text := CASE WHEN tenant.role_of(role) <> 'admin' THEN actor END;
    drafts  tenure.draft[];
    d       tenure.draft;
    places  jsonb := '{}';     -- index in the call of the job with this key
    ordered integer[] := '{1}';
    place   integer;
    above   integer;           -- index of its parent, if that is in the call
    ids     bigint[] := '{}';
    answers json[] := '{}';
    linked  integer[] := '{}';
    queues  text[] := '{}';
    refusal json;
    born    record;
BEGIN
    IF jsonb_typeof(jobs) = 'object' THEN
        jobs := jsonb_build_array(jobs);
    END IF;
    IF jsonb_typeof(jobs) <> 'array' OR jsonb_typeof(shared) <> 'object'
        OR jobs @? '$[*] ? (@.type() != "object")' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'enqueue takes a job, or a list of jobs, as JSON objects';
    END IF;
    IF NOT declared THEN
        jobs := tenant.declared_jobs(jobs, shared);
    END IF;
    drafts := tenant.drafts(jobs, shared);
    IF whose IS NOT NULL THEN
        refusal := tenant.forbidden_drafts(drafts, by, via, role);
        IF refusal IS NOT NULL THEN
            RETURN refusal;
        END IF;
    END IF;
    d := drafts[1];
    IF cardinality(drafts) = 1 AND d.key IS NULL AND d.after IS NULL THEN
        -- Most calls: a job that nothing in the call can name.
        born := tenant.insert_job(d, 1, places, ids, now_ts, actor, via, whose);
        IF born.created AND d.task IS NOT NULL THEN
            PERFORM tenant.notify_idle(ARRAY[d.queue]);
        END IF;
        RETURN json_build_array(json_build_object('id', born.id, 'created', born.created, 'taken', born.taken,
            'key', NULL));
    END IF;
    IF cardinality(drafts) <> 1 OR d.key IS NOT NULL THEN
        SELECT coalesce(jsonb_object_agg(k.key, k.place), '{}') INTO places FROM (
            SELECT j.value ->> 'key' AS key, min(j.place) AS place
            FROM jsonb_array_elements(jobs) WITH ORDINALITY AS j(value, place)
            WHERE j.value ->> 'key' IS NOT NULL GROUP BY 1) AS k;
    END IF;
    IF cardinality(drafts) <> 1 THEN
        IF jobs @? '$[*].unique' AND jobs @? '$[*].idempotency' THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001',
                MESSAGE = 'one call with several jobs takes unique keys or idempotency keys, not both';
        END IF;
        ordered := ARRAY(
            SELECT j.place FROM jsonb_array_elements(jobs) WITH ORDINALITY AS j(value, place)
            CROSS JOIN LATERAL (
                SELECT CASE WHEN jsonb_typeof(j.value -> 'parent') IS DISTINCT FROM 'string'
                    THEN coalesce(j.value ->> 'unique', j.value ->> 'idempotency') END AS key) AS k
            -- Also the same key of several owners: in the order of the stored keys.
            ORDER BY k.key NULLS LAST, CASE WHEN k.key IS NOT NULL THEN
                ARRAY[j.value ->> 'key_scope', j.value ->> 'owner', j.value ->> 'parent'] END, j.place);
    END IF;

    FOREACH place IN ARRAY ordered LOOP
        d := drafts[place];
        above := NULL;
        IF jsonb_typeof(d.parent) = 'string' THEN
            above := (places ->> (d.parent #>> '{}'))::integer;
        END IF;
        IF above < place AND NOT (answers[above] ->> 'created')::boolean THEN
            -- Its parent existed before this call, with all its descendants. If it has no such child, use
            -- the parent itself.
            SELECT coalesce((SELECT j.id FROM tenant.job AS j JOIN tenant.payload AS p ON p.job_id = j.id
                WHERE j.parent_id = ids[above] AND p.key IS NOT DISTINCT FROM d.key AND j.id <> ALL (ids)
                ORDER BY j.id LIMIT 1), ids[above]) AS id, false AS created, 'parent' AS taken INTO born;
        ELSE
            born := tenant.insert_job(d, place, places, ids, now_ts, actor, via, whose);
        END IF;
        IF born.created THEN
            IF jsonb_array_length(d.after) > 0 THEN
                linked := linked || place;
            END IF;
            IF d.task IS NOT NULL AND NOT d.queue = ANY (queues) THEN
                queues := queues || d.queue;
            END IF;
        END IF;
        ids[place] := born.id;
        answers[place] := json_build_object('id', born.id, 'created', born.created, 'taken', born.taken,
            'key', d.key);
    END LOOP;

    IF linked <> '{}' THEN
        FOREACH place IN ARRAY linked LOOP
            PERFORM tenant.insert_edges(ids[place], (drafts[place]).after, place, places, ids);
        END LOOP;
        PERFORM tenant.refuse_cycles(ids);
    END IF;
    IF queues <> '{}' THEN
        PERFORM tenant.notify_idle(queues);
    END IF;
    RETURN coalesce(array_to_json(answers), '[]');
END $$;
