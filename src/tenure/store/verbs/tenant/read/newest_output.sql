-- Return partial results, log lines or steps of a job, newest first, below an id; log lines also of some
-- levels only, or those that contain a text. Nothing of a job that the caller may not see.
CREATE OR REPLACE FUNCTION tenant.newest_output(job bigint, kind text, below bigint DEFAULT NULL,
    n integer DEFAULT 50, levels text[] DEFAULT NULL, text text DEFAULT NULL) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    below := coalesce(below, 9223372036854775807);
    IF NOT tenant.can_see_job(newest_output.job) THEN
        RETURN '[]';
    END IF;
    RETURN CASE kind
        WHEN 'partials' THEN (SELECT coalesce(
            json_agg(to_jsonb(x) - 'job_id' - 'token' ORDER BY x.id DESC), '[]')
            FROM (SELECT * FROM tenant.partial AS p WHERE p.job_id = newest_output.job AND p.id < below
                ORDER BY p.id DESC LIMIT tenure.batch_size(n)) AS x)
        WHEN 'logs' THEN (SELECT coalesce(json_agg(to_jsonb(x) - 'job_id' ORDER BY x.id DESC), '[]')
            FROM (SELECT * FROM tenant.log AS l WHERE l.job_id = newest_output.job AND l.id < below
                AND (levels IS NULL OR lower(l.level) = ANY (levels))
                AND (newest_output.text IS NULL
                    OR position(lower(newest_output.text) IN lower(l.line)) > 0)
                ORDER BY l.id DESC LIMIT tenure.batch_size(n)) AS x)
        WHEN 'steps' THEN (SELECT coalesce(
            json_agg(to_jsonb(x) - 'job_id' - 'digest' ORDER BY x.id DESC), '[]')
            FROM (SELECT s.*, CASE WHEN s.ended_at IS NULL THEN 'open' WHEN s.error IS NOT NULL THEN 'failed'
                  WHEN s.timed_out THEN 'timeout' ELSE 'done' END AS status
                FROM tenant.job_step AS s WHERE s.job_id = newest_output.job AND s.id < below
                ORDER BY s.id DESC LIMIT tenure.batch_size(n)) AS x)
    END;
END $$;
