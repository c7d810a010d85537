-- Return a job with everything that is known of it. For a producer's role only its own jobs exist.
CREATE OR REPLACE FUNCTION tenant.show(job bigint) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    answer jsonb := (SELECT to_jsonb(j) FROM tenant.jobs AS j
        WHERE j.id = show.job AND tenant.can_see_job(show.job));
BEGIN
    IF answer IS NULL THEN
        PERFORM tenant.refuse_verb(show.job, 'show');
    END IF;
    RETURN answer || jsonb_build_object(
        'spent', (SELECT coalesce(jsonb_object_agg(s.unit, s.amount), '{}') FROM (
            SELECT s.unit, sum(s.amount) AS amount FROM tenant.spent AS s WHERE s.job_id = show.job
            GROUP BY s.unit) AS s),
        'spending', tenant.spending(show.job),
        'slots', (SELECT coalesce(jsonb_agg(s.pool || '/' || s.name ORDER BY s.pool, s.name), '[]')
            FROM tenant.slot AS s WHERE s.job_id = show.job),
        'needs', (SELECT coalesce(
            jsonb_agg(jsonb_build_object('job_id', e.needs_id, 'policy', e.policy) ORDER BY e.needs_id), '[]')
                  FROM tenant.edge AS e WHERE e.job_id = show.job),
        'artifacts', (SELECT coalesce(jsonb_agg(to_jsonb(a) - 'job_id' ORDER BY a.name), '[]')
            FROM tenant.artifact AS a WHERE a.job_id = show.job),
        'steps', (SELECT count(*) FROM tenant.job_step AS s WHERE s.job_id = show.job),
        'partials', (SELECT count(*) FROM tenant.partial AS p WHERE p.job_id = show.job),
        'checkpoints', (SELECT coalesce(max(o.checkpoints), 0) FROM tenant.outcome AS o
            WHERE o.job_id = show.job),
        'checkpoint_times', (SELECT coalesce(jsonb_agg(DISTINCT c.at ORDER BY c.at), '[]')
            FROM tenant.outcome AS o CROSS JOIN LATERAL unnest(o.checkpoint_times || o.checkpoint_at) AS c(at)
            WHERE o.job_id = show.job AND o.checkpoints > 0),
        'attempts', (SELECT coalesce(jsonb_agg(to_jsonb(a) - 'job_id' - 'token' ORDER BY a.started_at), '[]')
                     FROM tenant.attempt AS a WHERE a.job_id = show.job));
END $$;
