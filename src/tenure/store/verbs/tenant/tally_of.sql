-- What these records add to the sums: how each ended and how long it took, and for each of their jobs that
-- ran how far the ladder went and how long it took from the request until its code was gone.
CREATE OR REPLACE FUNCTION tenant.tally_of(stops bigint[]) RETURNS SETOF tenant.tally
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    bounds CONSTANT double precision[] := tenant.tally_bounds();
BEGIN
    RETURN QUERY
    SELECT t.kind, t.labels, t.bucket, count(*), sum(t.seconds) FROM (
        SELECT e.kind, e.labels, (SELECT count(*) FROM unnest(bounds) AS b WHERE b < e.seconds)::smallint AS bucket, e.seconds
        FROM (
            SELECT 'record' AS kind, ARRAY[c.intent, CASE WHEN c.initiated_by LIKE 'policy:%' THEN c.initiated_by ELSE 'user' END,
                    CASE WHEN c.completed_at IS NULL THEN 'open' ELSE c.status END] AS labels,
                coalesce(extract(epoch FROM c.completed_at - c.initiated_at), 0)::double precision AS seconds
            FROM tenant.cancellation AS c WHERE c.id = ANY (stops)
            UNION ALL
            SELECT 'runner', ARRAY[coalesce(m.rung::text, 'none')], extract(epoch FROM m.ended_at - c.initiated_at)
            FROM tenant.cancellation AS c JOIN tenant.member AS m ON m.stop_id = c.id
            WHERE c.id = ANY (stops) AND m.was = 'running' AND m.became <> 'completed') AS e) AS t
    GROUP BY t.kind, t.labels, t.bucket;
END $$;
