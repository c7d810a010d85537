-- Count how jobs of each task ended and how long they ran: of the newest n jobs, or of the newest n of one
-- task. A run time is the middle of its bin (rollup_bin), with the number of jobs in that bin.
CREATE OR REPLACE FUNCTION tenant.task_runs(task text DEFAULT NULL, n integer DEFAULT 10000) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{index_scans} SET jit = off AS $$
DECLARE
    lanes  CONSTANT integer[] := ARRAY(SELECT l.id FROM tenant.lane AS l WHERE l.task = task_runs.task);
    answer json;
BEGIN
    IF n IS NULL OR n NOT BETWEEN 1 AND 100000 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('%s jobs cannot be counted; 1 to 100000 can', coalesce(n::text, 'no'));
    END IF;
    -- The lanes are constants, so that the planner knows how many jobs they have.
    EXECUTE format($counted$
        WITH newest AS MATERIALIZED (
            SELECT j.lane, j.state, j.created_at,
                CASE WHEN j.state IN ('completed', 'failed')
                    THEN tenant.rollup_bin(j.ended_at - j.started_at) END AS bin
            FROM tenant.job AS j %s ORDER BY j.id DESC LIMIT $1
        ), counted AS (
            SELECT l.task, count(*) AS jobs, min(w.created_at) AS since, max(w.created_at) AS newest_at,
                count(*) FILTER (WHERE w.state = 'completed') AS completed,
                count(*) FILTER (WHERE w.state = 'failed') AS failed,
                count(*) FILTER (WHERE w.state = 'cancelled') AS cancelled
            FROM newest AS w JOIN tenant.lane AS l ON l.id = w.lane WHERE l.task IS NOT NULL GROUP BY l.task
        ), binned AS (
            SELECT l.task, w.bin, count(*) AS n FROM newest AS w JOIN tenant.lane AS l ON l.id = w.lane
            WHERE w.bin IS NOT NULL GROUP BY l.task, w.bin
        )
        SELECT coalesce(json_agg(to_jsonb(c) || jsonb_build_object('runs', (
            SELECT coalesce(jsonb_agg(jsonb_build_array(tenant.rollup_seconds(b.bin), b.n) ORDER BY b.bin),
                '[]') FROM binned AS b WHERE b.task = c.task)) ORDER BY c.task), '[]') FROM counted AS c
        $counted$, CASE WHEN task_runs.task IS NULL THEN ''
            ELSE format('WHERE j.lane = ANY (%L::integer[])', lanes) END) INTO answer USING n;
    RETURN answer;
END $$;
