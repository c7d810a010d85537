-- Return what ended in the last "span", in buckets of a "step": how many jobs ended and how, and the median
-- and 95th percentile of their wait and run times. For each bucket, for each queue, and in total; or of one
-- queue.
--
-- Percentiles are those of the bucket, queue or total they are in, exact to a tenth. A step is 5, 15, 30 or
-- 60 minutes, of one queue at least 15. What is not rolled up yet is counted here, at most ten minutes of
-- it: from "counted_until" until then nothing is known, which happens while a transaction stays open longer
-- than that, or when no worker has rolled up.
CREATE OR REPLACE FUNCTION tenant.history(
    span interval DEFAULT '24 hours', step interval DEFAULT NULL, queue text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{index_scans} SET jit = off AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    finest  CONSTANT interval := CASE WHEN history.queue IS NULL THEN '5 minutes' ELSE '15 minutes' END;
    length  CONSTANT interval := coalesce(step,
        CASE WHEN span <= interval '6 hours' THEN finest ELSE '15 minutes' END);
    -- Start where a bucket of a queue starts, so that all parts cover the same time.
    unit    CONSTANT interval := greatest(length, interval '15 minutes');
    counted CONSTANT timestamptz := (SELECT r.until FROM tenant.rolled_up AS r);
    first   timestamptz;
    answer  json;
BEGIN
    IF span IS NULL OR span NOT BETWEEN interval '15 minutes' AND interval '24 hours' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'the span of the history must be 15 minutes to 24 hours';
    ELSIF length < finest OR length NOT IN ('5 minutes', '15 minutes', '30 minutes', '60 minutes') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'a step of the history is 5, 15, 30 or 60 minutes, of one queue at least 15';
    END IF;
    first := date_bin(unit, now_ts,
        'epoch') + unit - ceil(date_part('epoch', span) / date_part('epoch', unit)) * unit;

    WITH found AS (
        SELECT r.* FROM tenant.rollup AS r WHERE r.at >= first
        UNION ALL
        SELECT e.* FROM tenant.ends_between(greatest(counted, first, now_ts - interval '10 minutes'),
            now_ts) AS e
    ), summed AS (
        SELECT b.at, NULL AS queue, b.kind, b.bin, sum(b.n) AS n FROM (
            SELECT date_bin(length, f.at, 'epoch') AS at, f.kind, f.bin, f.n FROM found AS f
            WHERE f.queue = coalesce(history.queue, '')) AS b
        GROUP BY GROUPING SETS ((b.at, b.kind, b.bin), (b.kind, b.bin))
        UNION ALL
        SELECT NULL, f.queue, f.kind, f.bin, sum(f.n) FROM found AS f
        WHERE CASE WHEN history.queue IS NULL THEN f.queue <> '' ELSE f.queue = history.queue END
        GROUP BY f.queue, f.kind, f.bin
    ), ranked AS (
        SELECT s.*, sum(s.n) OVER (PARTITION BY s.at, s.queue, s.kind ORDER BY s.bin) AS upto,
            sum(s.n) OVER (PARTITION BY s.at, s.queue, s.kind) AS whole
        FROM summed AS s
    ), totals AS MATERIALIZED (
        SELECT r.at, r.queue, jsonb_build_object(
            'completed', coalesce(sum(r.n) FILTER (WHERE r.kind = 'completed'), 0),
            'failed', coalesce(sum(r.n) FILTER (WHERE r.kind = 'failed'), 0),
            'cancelled', coalesce(sum(r.n) FILTER (WHERE r.kind = 'cancelled'), 0),
            'wait_p50', tenant.rollup_seconds(
                min(r.bin) FILTER (WHERE r.kind = 'wait' AND r.upto >= 0.5 * r.whole)),
            'wait_p95', tenant.rollup_seconds(
                min(r.bin) FILTER (WHERE r.kind = 'wait' AND r.upto >= 0.95 * r.whole)),
            'run_p50', tenant.rollup_seconds(
                min(r.bin) FILTER (WHERE r.kind = 'run' AND r.upto >= 0.5 * r.whole)),
            'run_p95', tenant.rollup_seconds(
                min(r.bin) FILTER (WHERE r.kind = 'run' AND r.upto >= 0.95 * r.whole))) AS ends
        FROM ranked AS r GROUP BY r.at, r.queue
    )
    SELECT json_build_object('since', first, 'until', now_ts, 'step_seconds', date_part('epoch', length),
        'counted_until', counted,
        'total', coalesce((SELECT t.ends FROM totals AS t WHERE t.at IS NULL AND t.queue IS NULL), '{}'),
        'buckets', (SELECT json_agg(coalesce(t.ends, '{}') || jsonb_build_object('at', b.at) ORDER BY b.at)
            FROM generate_series(first, now_ts, length) AS b(at) LEFT JOIN totals AS t ON t.at = b.at),
        'queues', (SELECT coalesce(json_agg(t.ends || jsonb_build_object('queue', t.queue) ORDER BY t.queue),
            '[]')
            FROM totals AS t WHERE t.queue IS NOT NULL))
    INTO answer;
    RETURN answer;
END $$;
