-- Return what a bulk operation would change, without changing it: how many jobs match, by status; how many
-- it would change ("reaches") and how many of these run; how many it would leave because of their state,
-- and how many because they belong to others. "intent" is cancel, pause, resume or rerun.
CREATE OR REPLACE FUNCTION tenant.bulk_preview(
    filter jsonb, intent text DEFAULT 'cancel', force boolean DEFAULT false,
    by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    whose CONSTANT text := CASE WHEN tenant.role_of(role) <> 'admin' THEN tenure.actor(by) END;
    found json;
BEGIN
    PERFORM tenant.check_bulk(intent);
    PERFORM tenant.refuse_text_alone(filter);
    -- Count by the columns that make a status: the status itself is computed once per group.
    EXECUTE format($count$
        WITH counted AS MATERIALIZED (
            SELECT j.state, j.waiting, (j.attempt > 0)::integer::smallint AS attempt, s.intent,
                w.draining_at IS NOT NULL AS draining,
                coalesce(%s, false) AS reached, coalesce(p.owner = $2, true) AS own, count(*) AS n
            %s GROUP BY 1, 2, 3, 4, 5, 6, 7
        )
        SELECT json_build_object(
            'total', coalesce(sum(c.n), 0),
            'by_status', (SELECT coalesce(json_object_agg(g.status, g.n), '{}') FROM (
                SELECT tenure.status(c.state, c.waiting, c.attempt, c.intent, c.draining) AS status,
                    sum(c.n) AS n
                FROM counted AS c GROUP BY 1 ORDER BY 1) AS g),
            'reaches', coalesce(sum(c.n) FILTER (WHERE c.reached AND c.own), 0),
            'running', coalesce(sum(c.n) FILTER (WHERE c.reached AND c.own AND c.state = 'running'), 0),
            'untouched', coalesce(sum(c.n) FILTER (WHERE NOT c.reached), 0),
            'others', coalesce(sum(c.n) FILTER (WHERE c.reached AND NOT c.own), 0))
        FROM counted AS c
        $count$, tenant.filter_reached(intent, coalesce(force, false)), tenant.filtered_jobs(filter))
    INTO found USING filter, whose;
    RETURN found;
END $$;
