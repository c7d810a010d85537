-- Return what ended in a period, as rows of the rollups.
--
-- A job counts where it ended, also a job without code of its own. Its wait began when it was last due, its
-- run at its last start; jobs that were cancelled or failed without a start have no times.
CREATE OR REPLACE FUNCTION tenant.ends_between(since timestamptz, before timestamptz)
RETURNS SETOF tenant.rollup
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} SET jit = off AS $$
BEGIN
    RETURN QUERY
    -- Aggregate by number first, each kind separately: there may be a million jobs, but few bins.
    WITH ended AS (
        SELECT date_bin('5 minutes', j.ended_at, 'epoch') AS at, j.lane, j.state,
            CASE WHEN r.ran THEN tenant.rollup_bin(j.started_at - j.run_at) END AS wait,
            CASE WHEN r.ran THEN tenant.rollup_bin(j.ended_at - j.started_at) END AS run
        FROM tenant.job AS j CROSS JOIN LATERAL (
            SELECT j.state <> 'cancelled' AND isfinite(j.run_at) AND j.started_at >= j.run_at AS ran) AS r
        WHERE j.ended_at >= since AND j.ended_at < before
    ), alike AS (
        SELECT e.at, e.lane, count(*) AS n,
            CASE grouping(e.state, e.wait, e.run) WHEN 3 THEN e.state::text
                WHEN 5 THEN 'wait' ELSE 'run' END AS kind,
            CASE grouping(e.state, e.wait, e.run) WHEN 3 THEN 0::smallint
                WHEN 5 THEN e.wait ELSE e.run END AS bin
        FROM ended AS e GROUP BY GROUPING SETS ((e.at, e.lane, e.state), (e.at, e.lane, e.wait),
            (e.at, e.lane, e.run))
    )
    SELECT coalesce(b.at, b.quarter), coalesce(b.queue, ''), b.kind, b.bin, sum(b.n)::bigint
    FROM (SELECT a.at, date_bin('15 minutes', a.at, 'epoch') AS quarter, l.queue, a.kind, a.bin, a.n
          FROM alike AS a JOIN tenant.lane AS l ON l.id = a.lane WHERE a.bin IS NOT NULL) AS b
    GROUP BY GROUPING SETS ((b.at, b.kind, b.bin), (b.quarter, b.queue, b.kind, b.bin));
END $$;
