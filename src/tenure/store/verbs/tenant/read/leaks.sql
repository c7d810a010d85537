-- List ended jobs that left a resource open, newest first, with the resources and why each is still open.
CREATE OR REPLACE FUNCTION tenant.leaks(n integer DEFAULT 100) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
    SELECT coalesce(json_agg(l ORDER BY l.job_id DESC), '[]') FROM (
        SELECT o.job_id, a.task, p.owner, j.ended_at, o.cleanup -> 'failed' AS resources
        FROM tenant.outcome AS o JOIN tenant.job AS j ON j.id = o.job_id
        JOIN tenant.lane AS a ON a.id = j.lane JOIN tenant.payload AS p ON p.job_id = o.job_id
        WHERE jsonb_typeof(o.cleanup -> 'failed') = 'array' AND o.cleanup -> 'failed' <> '[]'
          AND j.ended_at IS NOT NULL
        ORDER BY o.job_id DESC LIMIT tenure.batch_size(leaks.n)) AS l;
$$;
