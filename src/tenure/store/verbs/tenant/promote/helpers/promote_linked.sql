-- Jobs that wait for others: for what they come after, for their tasks, or for their children.
--
-- The rows a decision rests on are locked (shared, never waiting) before they are read in a new
-- statement. Otherwise a dependency could end between the look and the edge that nobody saw. That can
-- only happen at the first look: whatever ends after it has seen the edge, and leaves a wake. So what is
-- known to wait for its dependencies locks them no more, or the last of a thousand would lock them all
-- a thousand times.
CREATE OR REPLACE FUNCTION tenant.promote_linked(n integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    moment CONSTANT timestamptz := tenure.now();
    wakes  tenant.wake[];
    woken  bigint[];   -- whom they name
    ours   bigint[];   -- those of them that are locked
    young  bigint[];   -- those that nobody has looked at before
    needed bigint[];   -- what decides about them, locked too
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
    ours := ARRAY(SELECT j.id FROM tenant.job AS j WHERE j.id = ANY (woken) FOR NO KEY UPDATE SKIP LOCKED);
    young := ARRAY(SELECT j.id FROM tenant.job AS j
        WHERE j.id = ANY (ours) AND j.waiting IS DISTINCT FROM 'dependencies');
    needed := ARRAY(SELECT j.id FROM tenant.job AS j WHERE j.id = ANY (ARRAY(
            -- As UNION this read all edges there are, in their order.
            SELECT e.needs_id FROM tenant.edge AS e WHERE e.job_id = ANY (young)
            UNION ALL SELECT a.id FROM unnest(ours) AS o(id)
            CROSS JOIN LATERAL unnest(tenant.ancestors(o.id)) AS a(id)))
        FOR SHARE SKIP LOCKED);
    -- Whatever is gone was over for long: nobody has to wait for it.
    needed := needed || tenant.gone(ours, young);
    ours := ARRAY(SELECT o.id FROM unnest(ours) AS o(id)
        WHERE tenant.ancestors(o.id) <@ needed
          AND NOT (o.id = ANY (young)
                   AND EXISTS (SELECT FROM tenant.edge AS e
                       WHERE e.job_id = o.id AND e.needs_id <> ALL (needed))));
    -- Whoever could not be locked goes to the back of the line of wakes, with all of its own as one.
    INSERT INTO tenant.wake (job_id, needed)
    SELECT w.job_id, CASE WHEN bool_and(w.needed IS NOT NULL) THEN array_agg(DISTINCT n.id) END
    FROM unnest(wakes) AS w LEFT JOIN LATERAL unnest(w.needed) AS n(id) ON true
    WHERE w.job_id <> ALL (ours) AND (SELECT true FROM tenant.job AS j WHERE j.id = w.job_id)
    GROUP BY w.job_id;

    PERFORM tenant.join_stopped_parents(ours);
    PERFORM tenant.settle_dependencies(ours, wakes, moment);
    PERFORM tenant.settle_parents(ours, moment);
    RETURN cardinality(ours);
END $$;
