-- Store reports of running jobs: progress, checkpoint, steps, partial results, spending, log lines,
-- artifacts, slots, grants and reservations; many at once, fenced.
--
-- Spending is recorded even when the rest is refused, or crash loops would escape their budget; it counts
-- for the job and all its ancestors. A budget is exhausted when more than its limit is spent.
--
-- "number" grows with every report of a worker. A report that is sent again, because its answer was lost,
-- keeps its number: it is not recorded twice, and gets the same answer.
CREATE OR REPLACE FUNCTION tenant.report(worker uuid, reports jsonb, number bigint DEFAULT NULL) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s'
SET plan_cache_mode = force_generic_plan
{index_scans} AS $$
DECLARE
    now_ts    timestamptz;
    alive     boolean;
    accepted  bigint[];
    tokens    bigint[];
    exhausted json;
    granted   json;
    answered  json;
    held      jsonb;  -- the reports of jobs that it still holds
    missing   json;
    reply     json;
BEGIN
    IF tenant.report_error(reports) IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = tenant.report_error(reports);
    END IF;
    IF number IS NOT NULL THEN
        -- A repeated report waits here for a first try that is still in progress.
        INSERT INTO tenant.reported AS r (worker_id, number) VALUES (worker, report.number)
        ON CONFLICT (worker_id) DO UPDATE SET number = excluded.number, answer = NULL
        WHERE r.number < excluded.number;
        IF NOT FOUND THEN
            SELECT r.answer INTO reply FROM tenant.reported AS r WHERE r.worker_id = worker;
            RETURN reply;
        END IF;
    END IF;
    PERFORM FROM tenure.worker AS w WHERE w.id = worker AND w.dead_at IS NULL FOR KEY SHARE SKIP LOCKED;
    alive := FOUND;
    now_ts := tenure.now();
    -- Shared lock, so that the job cannot be taken away before this is committed.
    SELECT coalesce(array_agg(j.id), '{}'), coalesce(array_agg(j.token), '{}') INTO accepted, tokens
    FROM (SELECT DISTINCT r.job, r.token FROM jsonb_to_recordset(reports) AS r(job bigint, token bigint)
        WHERE alive) AS r
    CROSS JOIN LATERAL (
        SELECT h.id, h.token FROM tenant.job AS h
        WHERE h.id = r.job AND h.state::text = 'running' AND h.worker_id = report.worker AND h.token = r.token
        LIMIT 1 FOR SHARE SKIP LOCKED) AS j;

    IF reports @? '$[*] ? (exists(@.steps) || exists(@.forget_partials))' THEN
        PERFORM tenant.keep_steps(reports, accepted, tokens, now_ts);
    END IF;
    WITH parsed AS MATERIALIZED (
        SELECT r.* FROM ROWS FROM (
            jsonb_to_recordset(reports) AS (job bigint, token bigint, progress jsonb, checkpoint jsonb,
            partials jsonb, partial_steps jsonb, logs jsonb, artifacts jsonb)) WITH ORDINALITY
            AS r(job, token, progress, checkpoint, partials, partial_steps, logs, artifacts, place)
        WHERE EXISTS (SELECT FROM unnest(accepted, tokens) AS a(job, token)
            WHERE a.job = r.job AND a.token = r.token)
    ), noted AS (
        INSERT INTO tenant.outcome AS o (job_id, progress, checkpoint, noted_at, checkpoints, checkpoint_at,
            checkpoint_times)
        SELECT n.*, CASE WHEN n.checkpoint IS NOT NULL THEN 1 END,
            CASE WHEN n.checkpoint IS NOT NULL THEN n.at END,
            CASE WHEN n.checkpoint IS NOT NULL THEN ARRAY[n.at] END
        FROM (
            SELECT t.job,
                (array_agg(t.progress ORDER BY t.place DESC) FILTER (WHERE t.progress IS NOT NULL))[1],
                (array_agg(t.checkpoint ORDER BY t.place DESC) FILTER (WHERE t.checkpoint IS NOT NULL))[1],
                now_ts
            FROM parsed AS t WHERE t.progress IS NOT NULL OR t.checkpoint IS NOT NULL GROUP BY t.job
        ) AS n(job, progress, checkpoint, at)
        ON CONFLICT (job_id) DO UPDATE SET noted_at = excluded.noted_at,
            progress = coalesce(excluded.progress, o.progress),
            checkpoint = coalesce(excluded.checkpoint, o.checkpoint),
            checkpoints = CASE WHEN excluded.checkpoint IS NULL THEN o.checkpoints
                ELSE coalesce(o.checkpoints, 0) + 1 END,
            checkpoint_at = coalesce(excluded.checkpoint_at, o.checkpoint_at),
            checkpoint_times = CASE WHEN excluded.checkpoint IS NULL THEN o.checkpoint_times
                ELSE tenure.sampled(coalesce(o.checkpoint_times, '{}'), coalesce(o.checkpoints, 0),
                    excluded.checkpoint_at) END,
            -- The attempt has had the value; what it needs of it is in its checkpoint.
            resume_value = CASE WHEN excluded.checkpoint IS NULL THEN o.resume_value END
    ), emitted AS (
        INSERT INTO tenant.partial (job_id, token, at, value, step)
        SELECT t.job, t.token, now_ts, p.value, t.partial_steps ->> (p.place - 1)::integer FROM parsed AS t
        CROSS JOIN LATERAL jsonb_array_elements(t.partials) WITH ORDINALITY AS p(value, place)
        ORDER BY t.job, t.place, p.place
    ), logged AS (
        INSERT INTO tenant.log (job_id, at, level, line)
        SELECT t.job, coalesce((l.value ->> 'at')::timestamptz, now_ts),
            coalesce(l.value ->> 'level', 'info'), l.value ->> 'line'
        FROM parsed AS t CROSS JOIN LATERAL jsonb_array_elements(t.logs) WITH ORDINALITY AS l(value, place)
        ORDER BY t.job, t.place, l.place
    )
    INSERT INTO tenant.artifact AS a (job_id, name, url, size, created_at)
    SELECT DISTINCT ON (t.job, f.value ->> 'name') t.job, f.value ->> 'name', f.value ->> 'url',
        (f.value ->> 'size')::bigint, now_ts
    FROM parsed AS t CROSS JOIN LATERAL jsonb_array_elements(t.artifacts) WITH ORDINALITY AS f(value, place)
    ORDER BY t.job, f.value ->> 'name', t.place DESC, f.place DESC
    ON CONFLICT (job_id, name) DO UPDATE SET url = excluded.url, size = excluded.size,
        created_at = excluded.created_at;

    IF reports @? '$[*].forget_artifacts' THEN
        DELETE FROM tenant.artifact AS a
        USING jsonb_to_recordset(reports) AS r(job bigint, token bigint, forget_artifacts boolean)
        WHERE a.job_id = r.job AND r.forget_artifacts
          AND EXISTS (SELECT FROM unnest(accepted, tokens) AS t(job, token)
              WHERE t.job = r.job AND t.token = r.token);
    END IF;

    IF EXISTS (SELECT FROM jsonb_to_recordset(reports) AS r(job bigint, token bigint) WHERE NOT EXISTS (
            SELECT FROM unnest(accepted, tokens) AS a(job, token)
            WHERE a.job = r.job AND a.token = r.token)) THEN
        missing := tenant.refused_outcomes(
            (SELECT jsonb_agg(jsonb_build_object('job', r -> 'job', 'token', r -> 'token', 'outcome',
            'report'))
            FROM jsonb_array_elements(reports) AS r), worker, accepted, tokens, alive OR EXISTS (
                SELECT FROM tenure.worker AS w WHERE w.id = worker AND w.dead_at IS NULL));
    END IF;
    IF reports @? '$[*].spent' THEN
        -- A busy report is sent again, and counts then.
        exhausted := tenant.spend(worker,
            (SELECT coalesce(jsonb_agg(r), '[]') FROM jsonb_array_elements(reports) AS r
            WHERE NOT coalesce((missing -> 'busy')::jsonb, '[]') @> (r -> 'job')));
    END IF;
    IF reports @? '$[*].take' OR reports @? '$[*].give' OR reports @? '$[*].settled'
            OR reports @? '$[*].asks' THEN
        -- In the order of the requests.
        held := (SELECT coalesce(jsonb_agg(r.value ORDER BY r.place), '[]')
            FROM jsonb_array_elements(reports) WITH ORDINALITY AS r(value, place)
            WHERE EXISTS (SELECT FROM unnest(accepted, tokens) AS a(job, token)
                          WHERE a.job = (r.value ->> 'job')::bigint
                            AND a.token = (r.value ->> 'token')::bigint));
        granted := tenant.exchange_slots(held, now_ts);
        answered := tenant.exchange_grants(worker, held, now_ts);
    END IF;
    PERFORM tenant.notify_readers(accepted);
    reply := json_build_object('accepted', to_json(accepted), 'refused', coalesce(missing -> 'refused', '[]'),
        'repeated', coalesce(missing -> 'repeated', '[]'), 'busy', coalesce(missing -> 'busy', '[]'),
        'exhausted', coalesce(exhausted, '[]'), 'granted', coalesce(granted, '{}'),
        'answered', coalesce(answered, '{}'));
    IF number IS NOT NULL THEN
        UPDATE tenant.reported AS r SET answer = reply WHERE r.worker_id = worker;
    END IF;
    RETURN reply;
END $$;
