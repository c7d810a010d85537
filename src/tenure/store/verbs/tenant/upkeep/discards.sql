-- Return cancelled and pruned jobs whose artifacts a worker should delete, with what is known of them. A
-- job is offered to another worker if "discarded" is not called in time: later every time, up to an hour.
CREATE OR REPLACE FUNCTION tenant.discards(n integer DEFAULT 50) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    taken  json;
BEGIN
    WITH due AS (
        SELECT d.job_id FROM tenant.discard AS d
        WHERE coalesce(d.tried_at < now_ts - least(interval '15 s' * power(2, least(d.tries, 10)),
            interval '1 h'), true)
          AND NOT EXISTS (SELECT FROM tenant.job AS j WHERE j.id = d.job_id AND j.ended_at IS NULL)
        ORDER BY d.tried_at NULLS FIRST, d.job_id LIMIT tenure.batch_size(n) FOR UPDATE SKIP LOCKED
    ), tried AS (
        UPDATE tenant.discard AS d SET tries = d.tries + 1, tried_at = now_ts FROM due
        WHERE d.job_id = due.job_id RETURNING d.*
    )
    SELECT coalesce(json_agg(json_build_object('job_id', t.job_id, 'tries', t.tries, 'urls', (
        SELECT coalesce(json_agg(a.url), '[]') FROM tenant.artifact AS a WHERE a.job_id = t.job_id))
            ORDER BY t.job_id), '[]')
    INTO taken FROM tried AS t;
    RETURN taken;
END $$;
