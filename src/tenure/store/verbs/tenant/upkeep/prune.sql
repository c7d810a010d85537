-- Delete what ended long enough ago: whole ended trees only, and nothing that others still need or that
-- blocks a target.
--
-- "keep" states for how long, by state; a state that is not named is kept forever. Events and dead workers
-- are deleted after "keep_events", inspections after an hour. Metrics are added up first. Workers are told to
-- delete the artifacts (discards).
CREATE OR REPLACE FUNCTION tenant.prune(
    keep jsonb DEFAULT '{"completed": "7 days", "cancelled": "30 days"}',
    keep_events interval DEFAULT '30 days', n integer DEFAULT 1000
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    -- Ends that are not rolled up yet are kept until they are; ends older than a day never will be.
    counted CONSTANT timestamptz := coalesce((
        SELECT greatest(r.until, now_ts - interval '25 hours') FROM tenant.rolled_up AS r), 'infinity');
    roots   bigint[];
    gone    bigint[];
    events  integer := 0;
BEGIN
    IF jsonb_typeof(keep) IS DISTINCT FROM 'object' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'keep must be a JSON object such as {"completed": "7 days"}';
    ELSIF EXISTS (SELECT FROM jsonb_object_keys(keep) AS k
        WHERE k NOT IN ('completed', 'failed', 'cancelled')) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'only completed, failed and cancelled jobs can be pruned';
    END IF;
    roots := ARRAY(SELECT j.id FROM tenant.job AS j
        WHERE j.parent_id IS NULL
          AND j.ended_at < now_ts - (SELECT min(k.value::interval) FROM jsonb_each_text(keep) AS k)
          AND j.ended_at < now_ts - (keep ->> j.state::text)::interval AND j.ended_at < counted
          AND NOT EXISTS (
            WITH RECURSIVE tree AS (
                SELECT j.id, j.state, j.ended_at, j.blocks
                UNION ALL
                SELECT c.id, c.state, c.ended_at, c.blocks FROM tree CROSS JOIN LATERAL (
                    SELECT o.* FROM tenant.job AS o WHERE o.parent_id = tree.id OFFSET 0) AS c
            )
            SELECT FROM tree WHERE tree.blocks OR tree.ended_at IS NULL OR tree.ended_at >= counted
                OR NOT coalesce(tree.ended_at < now_ts - (keep ->> tree.state::text)::interval, false)
                OR EXISTS (SELECT FROM tenant.edge AS e JOIN tenant.job AS d ON d.id = e.job_id
                           WHERE e.needs_id = tree.id AND d.root_id <> j.id
                             AND d.state NOT IN ('completed', 'cancelled'))
                OR EXISTS (SELECT FROM tenant.member AS m WHERE m.job_id = tree.id AND m.became IS NULL))
        LIMIT tenure.batch_size(n) FOR UPDATE SKIP LOCKED);
    WITH RECURSIVE tree AS (
        SELECT unnest(roots) AS id
        UNION ALL SELECT c.id FROM tree CROSS JOIN LATERAL (
            SELECT o.id FROM tenant.job AS o WHERE o.parent_id = tree.id OFFSET 0) AS c
    )
    SELECT coalesce(array_agg(tree.id), '{}') INTO gone FROM tree;
    DELETE FROM tenant.edge WHERE job_id = ANY (gone) OR needs_id = ANY (gone);
    DELETE FROM tenant.payload WHERE job_id = ANY (gone);
    DELETE FROM tenant.unannounced WHERE job_id = ANY (gone);
    DELETE FROM tenant.outcome WHERE job_id = ANY (gone);
    DELETE FROM tenant.attempt WHERE job_id = ANY (gone);
    DELETE FROM tenant.job_step WHERE job_id = ANY (gone);
    DELETE FROM tenant.partial WHERE job_id = ANY (gone);
    DELETE FROM tenant.log WHERE job_id = ANY (gone);
    -- Workers delete the files, and then the rows.
    INSERT INTO tenant.discard (job_id)
    SELECT DISTINCT a.job_id FROM tenant.artifact AS a WHERE a.job_id = ANY (gone) ON CONFLICT DO NOTHING;
    DELETE FROM tenant.spent WHERE job_id = ANY (gone);
    PERFORM tenant.prune_limits(n);
    DELETE FROM tenant.job WHERE id = ANY (gone);
    PERFORM tenant.add_to_tally(5000);
    -- Dependents without a wake: an end at REPEATABLE READ does not see an edge that was added after it
    -- began.
    INSERT INTO tenant.wake (job_id)
    SELECT DISTINCT e.job_id FROM tenant.edge AS e
    WHERE cardinality(roots) < n AND coalesce((
        SELECT o.state = 'completed' OR (o.ended_at IS NOT NULL AND e.policy <> 'wait')
        FROM tenant.job AS o WHERE o.id = e.needs_id), true);
    -- Not at once: jobs that waited when it was published may not have got it yet.
    DELETE FROM tenant.publication AS p WHERE p.expires_at < now_ts - interval '1 hour';
    -- Inspections are short-lived.
    WITH old AS (DELETE FROM tenant.inspection AS l WHERE l.asked_at < now_ts - interval '1 hour'
        RETURNING l.job_id)
    DELETE FROM tenure.signal AS s USING old
    WHERE s.tenant = '{tenant}' AND s.job_id = old.job_id AND s.orders ? 'inspection';
    IF keep_events IS NOT NULL THEN
        WITH old AS (DELETE FROM tenant.event AS e WHERE e.at < now_ts - keep_events RETURNING e.kind),
        counted AS (
            INSERT INTO tenant.tally AS t SELECT 'event', ARRAY[o.kind], 0, count(*), 0 FROM old AS o
            WHERE o.kind IN ('refused', 'recovered') GROUP BY o.kind ORDER BY o.kind
            ON CONFLICT (kind, labels, bucket) DO UPDATE SET n = t.n + excluded.n)
        SELECT count(*) INTO events FROM old;
        DELETE FROM tenant.delivery AS d WHERE d.due_at IS NULL AND d.created_at < now_ts - keep_events;
        DELETE FROM tenant.delivery AS d WHERE d.due_at IS NOT NULL  -- written while it was dropped
            AND d.webhook NOT IN (SELECT w.name FROM tenant.webhook AS w);
        -- A job that still names such a worker is an orphan of an unknown worker.
        DELETE FROM tenant.reported AS r WHERE NOT EXISTS (
            SELECT FROM tenure.worker AS w WHERE w.id = r.worker_id AND w.dead_at IS NULL);
        -- All tenants share workers: a worker that may have jobs in another tenant is left to the default
        -- tenant, and none is deleted whose jobs are still to be recovered.
        DELETE FROM tenure.worker AS w WHERE w.dead_at < now_ts - keep_events
            AND ('{tenant}' = 'default' OR w.tenants <@ ARRAY['{tenant}'])
            AND NOT EXISTS (SELECT FROM tenure.hold AS h WHERE h.worker_id = w.id);
        DELETE FROM tenure.serving AS s
        WHERE NOT EXISTS (SELECT FROM tenure.worker AS w WHERE w.id = s.worker_id);
    END IF;
    IF cardinality(roots) < n THEN
        PERFORM tenant.prune_lanes();  -- last: it makes others wait until the commit
    END IF;
    RETURN json_build_object('jobs', cardinality(gone), 'events', events, 'more', cardinality(roots) >= n);
END $$;
