-- Promote jobs that wait for others: for dependencies, for their children, for an event or an answer.
--
-- The rows that a decision depends on are locked (shared, never waiting) before they are read in a new
-- statement. Otherwise a dependency could end between the read and the commit of the edge. That can only
-- happen at the first check: whatever ends after it has seen the edge, and leaves a wake. So a job that is
-- known to wait for its dependencies does not lock them again; otherwise the last of a thousand would lock
-- all of them a thousand times.
CREATE OR REPLACE FUNCTION tenant.promote_linked(n integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    now_ts    CONSTANT timestamptz := tenure.now();
    wakes     tenant.wake[];
    woken     bigint[];   -- the jobs that they name
    locked    bigint[];   -- those of them that this transaction locked
    unchecked bigint[];   -- those that were never checked before
    above     bigint[];   -- their ancestors
    needed    bigint[];   -- the jobs that decide about them, also locked
BEGIN
    WITH taken AS (
        DELETE FROM tenant.wake AS w WHERE w.id = ANY (ARRAY(
            SELECT o.id FROM tenant.wake AS o WHERE o.job_id IS NOT NULL
            ORDER BY o.id LIMIT n FOR UPDATE SKIP LOCKED))
        RETURNING w AS wake
    )
    SELECT array_agg(t.wake) INTO wakes FROM taken AS t;
    IF wakes IS NULL THEN
        RETURN 0;
    END IF;
    woken := ARRAY(SELECT DISTINCT w.job_id FROM unnest(wakes) AS w);
    locked := ARRAY(SELECT j.id FROM tenant.job AS j WHERE j.id = ANY (woken) FOR NO KEY UPDATE SKIP LOCKED);
    unchecked := ARRAY(SELECT j.id FROM tenant.job AS j
        WHERE j.id = ANY (locked) AND j.waiting IS DISTINCT FROM 'dependencies');
    above := tenant.ancestors_of(locked);
    needed := ARRAY(SELECT j.id FROM tenant.job AS j WHERE j.id = ANY (ARRAY(
            -- As UNION this read all edges, in order.
            SELECT e.needs_id FROM tenant.edge AS e WHERE e.job_id = ANY (unchecked)
            UNION ALL SELECT unnest(above)))
        FOR SHARE SKIP LOCKED);
    -- A pruned job had ended long ago: no job has to wait for it.
    needed := needed || tenant.pruned_jobs(above, unchecked);
    locked := ARRAY(SELECT o.id FROM unnest(locked) AS o(id)
        WHERE (above <@ needed OR tenant.ancestors(o.id) <@ needed)
          AND NOT (o.id = ANY (unchecked)
                   AND EXISTS (SELECT FROM tenant.edge AS e
                       WHERE e.job_id = o.id AND e.needs_id <> ALL (needed))));
    -- Jobs that could not be locked get a new wake at the end, one for all of theirs.
    INSERT INTO tenant.wake (job_id, needed)
    SELECT w.job_id, CASE WHEN bool_and(w.needed IS NOT NULL) THEN array_agg(DISTINCT n.id) END
    FROM unnest(wakes) AS w LEFT JOIN LATERAL unnest(w.needed) AS n(id) ON true
    WHERE w.job_id <> ALL (locked) AND (SELECT true FROM tenant.job AS j WHERE j.id = w.job_id)
    GROUP BY w.job_id;

    PERFORM tenant.join_stopped_parents(locked);
    PERFORM tenant.settle_dependencies(locked, wakes, now_ts);
    PERFORM tenant.settle_parents(locked, now_ts);
    PERFORM tenant.settle_waits(locked, now_ts);
    RETURN cardinality(locked);
END $$;
