-- Return what these records add to the tally: how each ended and how long it took, and for each of their
-- jobs that ran, the last rung and the time from the request until its code was gone.
CREATE OR REPLACE FUNCTION tenant.tally_of(stops bigint[]) RETURNS SETOF tenant.tally
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    -- Reversed, because a bound belongs to the bucket below it.
    falling CONSTANT double precision[] := ARRAY(SELECT -b FROM unnest(tenant.tally_bounds()) AS b
        ORDER BY -b);
    buckets CONSTANT integer := cardinality(falling);
BEGIN
    RETURN QUERY
    SELECT 'record', ARRAY[r.intent, r.origin, r.ending], r.bucket::smallint, count(*), sum(r.seconds) FROM (
        SELECT c.intent, CASE WHEN c.initiated_by LIKE 'policy:%' THEN c.initiated_by
            ELSE 'user' END AS origin,
            CASE WHEN c.completed_at IS NULL THEN 'open' ELSE c.status END AS ending, c.seconds,
            buckets - width_bucket(-c.seconds, falling) AS bucket
        FROM unnest(stops) AS s(id) CROSS JOIN LATERAL (
            SELECT o.*, coalesce(tenure.seconds_between(o.initiated_at, o.completed_at), 0) AS seconds
            FROM tenant.cancellation AS o WHERE o.id = s.id OFFSET 0) AS c) AS r
    GROUP BY r.intent, r.origin, r.ending, r.bucket;

    RETURN QUERY
    SELECT 'runner', ARRAY[coalesce(r.rung::text, 'none')], r.bucket::smallint, count(*), sum(r.seconds)
    FROM (
        SELECT m.rung, m.seconds, buckets - width_bucket(-m.seconds, falling) AS bucket
        FROM unnest(stops) AS s(id) CROSS JOIN LATERAL (
            SELECT o.initiated_at FROM tenant.cancellation AS o WHERE o.id = s.id OFFSET 0) AS c
        CROSS JOIN LATERAL (
            SELECT o.rung, tenure.seconds_between(c.initiated_at, o.ended_at) AS seconds
                FROM tenant.member AS o
            WHERE o.stop_id = s.id AND o.was = 'running' AND o.became <> 'completed' OFFSET 0) AS m) AS r
    GROUP BY r.rung, r.bucket;
END $$;
