-- List targets that are in use or paused, by name: the holder of each, the paused or failed jobs that close
-- it, the number of jobs in its line, and the next one. A page continues after the last name of the
-- previous page.
CREATE OR REPLACE FUNCTION tenant.targets(target text DEFAULT NULL, n integer DEFAULT 50,
    after text DEFAULT NULL) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{plain_index_scans} AS $$
BEGIN
    IF n IS NULL OR n NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('a page of %s targets is not possible; 1 to 1000 are',
                coalesce(n::text, 'null'));
    END IF;
    RETURN (
        -- One index probe per name: a long line costs no more.
        WITH RECURSIVE named AS (
            SELECT coalesce(targets.target, tenant.next_target(coalesce(targets.after, ''))) AS name,
                1 AS place
            UNION ALL
            SELECT tenant.next_target(o.name), o.place + 1 FROM named AS o
            WHERE o.name IS NOT NULL AND o.place < n AND targets.target IS NULL
        )
        SELECT coalesce(json_agg(json_build_object(
            'name', o.name,
            'holder', (SELECT h.id FROM tenant.job AS h WHERE h.target = o.name AND h.holds),
            'blocked_by', (SELECT coalesce(json_agg(b.id ORDER BY b.id), '[]') FROM (
                SELECT b.id FROM tenant.job AS b
                WHERE b.target = o.name AND b.blocks AND b.state IN ('paused', 'failed') LIMIT 100) AS b),
            'line', (SELECT count(*) FROM tenant.job AS l WHERE l.target = o.name AND l.waiting = 'target'),
            'next', (SELECT l.id FROM tenant.job AS l WHERE l.target = o.name AND l.waiting = 'target'
                ORDER BY l.priority DESC, l.id LIMIT 1),
            'paused', EXISTS (SELECT FROM tenant.pause AS p WHERE p.subject = 'target' AND p.name = o.name))
                ORDER BY o.place), '[]')
        FROM named AS o WHERE o.name IS NOT NULL);
END $$;
