-- Return what a job and its descendants have spent over time: for each unit the times of at most about 100
-- reports, with what all workers together had spent until then.
CREATE OR REPLACE FUNCTION tenant.spending(job bigint) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(jsonb_object_agg(u.unit, u.points), '{}') FROM (
        SELECT t.unit, jsonb_agg(jsonb_build_array(t.at, t.total) ORDER BY t.at) AS points
        FROM (
            SELECT a.unit, a.at, sum(sum(a.amount)) OVER (PARTITION BY a.unit ORDER BY a.at) AS total,
                row_number() OVER (PARTITION BY a.unit ORDER BY a.at DESC) - 1 AS place,
                count(*) OVER (PARTITION BY a.unit) / 100 + 1 AS step
            FROM (
                SELECT s.unit, p.at, p.amount - lag(p.amount, 1, 0::numeric)
                    OVER (PARTITION BY s.unit, s.worker_id ORDER BY p.place) AS amount
                FROM tenant.spent AS s CROSS JOIN LATERAL unnest(s.times || s.spent_at, s.amounts || s.amount)
                    WITH ORDINALITY AS p(at, amount, place)
                WHERE s.job_id = spending.job) AS a
            GROUP BY a.unit, a.at) AS t
        WHERE t.place % t.step = 0
        GROUP BY t.unit) AS u;
$$;
