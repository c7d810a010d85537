-- What ended in a time, as rows of the rollups.
--
-- A job counts where it ended, a job without code of its own as well. It waited since it was last due and ran
-- since its last start; of jobs that were cancelled or failed without a start there are no times.
CREATE OR REPLACE FUNCTION tenant.ends_between(since timestamptz, before timestamptz) RETURNS SETOF tenant.rollup
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
    RETURN QUERY
    -- First those that are alike, by numbers alone: there may be a million of them, and few kinds.
    WITH alike AS (
        SELECT date_bin('5 minutes', j.ended_at, 'epoch') AS at, j.lane, j.state,
            CASE WHEN r.ran THEN tenant.rollup_bin(j.started_at - j.run_at) END AS wait,
            CASE WHEN r.ran THEN tenant.rollup_bin(j.ended_at - j.started_at) END AS run, count(*) AS n
        FROM tenant.job AS j CROSS JOIN LATERAL (
            SELECT j.state <> 'cancelled' AND isfinite(j.run_at) AND j.started_at >= j.run_at AS ran) AS r
        WHERE j.ended_at >= since AND j.ended_at < before
        GROUP BY 1, 2, 3, 4, 5
    )
    SELECT a.at, l.queue, k.kind, k.bin, sum(a.n)::bigint
    FROM alike AS a JOIN tenant.lane AS l ON l.id = a.lane
    CROSS JOIN LATERAL (VALUES (a.state::text, 0::smallint), ('wait', a.wait), ('run', a.run)) AS k(kind, bin)
    WHERE k.bin IS NOT NULL
    GROUP BY 1, 2, 3, 4;
END $$;
