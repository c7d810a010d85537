-- Return the steps and waits of a job in the order in which they were written, those after "above".
CREATE OR REPLACE FUNCTION tenant.steps(job bigint, above bigint DEFAULT 0, n integer DEFAULT 1000)
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    IF NOT tenant.can_see_job(steps.job) THEN
        RETURN '[]';
    END IF;
    RETURN (SELECT coalesce(json_agg(to_jsonb(x) - 'job_id' - 'digest' ORDER BY x.id), '[]')
        FROM (SELECT s.*, CASE WHEN s.ended_at IS NULL THEN 'open' WHEN s.error IS NOT NULL THEN 'failed'
                  WHEN s.timed_out THEN 'timeout' ELSE 'done' END AS status
              FROM tenant.job_step AS s WHERE s.job_id = steps.job AND s.id > above
              ORDER BY s.id LIMIT tenure.batch_size(n)) AS x);
END $$;
