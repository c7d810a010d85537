-- Separate refused outcomes from busy ones; late writes among the refused are counted and recorded as
-- events.
--
-- "repeated" are the refused outcomes that are not late writes: this worker has reported the same under
-- this token before, and lost the answer. Either the job is completed under the token, which only its
-- holder can do, perhaps in a transaction of the job's own; or the attempt is recorded with this outcome,
-- or as stopped, which is what a stop makes of any other outcome.
--
-- A separate statement, so that it sees what changed the row. "retry" is false when the worker itself is
-- dead: then none of its reports will be accepted.
CREATE OR REPLACE FUNCTION tenant.refused_outcomes(outcomes jsonb, worker uuid, done bigint[],
    tokens bigint[], retry boolean) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    answer json;
BEGIN
    WITH missing AS MATERIALIZED (
        SELECT t.job, t.token, t.outcome, t.value, j.state, j.token AS token_now, j.worker_id AS worker_now,
            retry AND j.state = 'running' AND j.worker_id = coalesce(refused_outcomes.worker, t.worker)
                AND j.token = t.token IS TRUE AS held,
            coalesce(j.state = 'completed' AND j.token = t.token, false) OR t.outcome <> 'report' AND EXISTS (
                SELECT FROM tenant.attempt AS a WHERE a.job_id = t.job AND a.token = t.token
                  AND a.worker_id = refused_outcomes.worker AND (a.outcome IN (t.outcome, 'stopped')
                      OR (a.outcome = 'displaced' AND t.outcome = 'released'))) AS repeated
        FROM jsonb_to_recordset(outcomes) AS t(job bigint, token bigint, worker uuid, outcome text,
            value jsonb)
        LEFT JOIN tenant.job AS j ON j.id = t.job
        WHERE NOT EXISTS (SELECT FROM unnest(done, tokens) AS d(job, token)
            WHERE d.job = t.job AND d.token = t.token)
    ), noted AS (
        INSERT INTO tenant.event (at, kind, job_id, worker_id, detail)
        SELECT tenure.now(), 'refused', m.job, refused_outcomes.worker, jsonb_build_object(
            'outcome', m.outcome, 'token', m.token, 'state', m.state, 'worker_now', m.worker_now,
            'value', CASE WHEN pg_column_size(m.value) < 10000 THEN m.value END)
        FROM missing AS m WHERE m.held IS NOT TRUE AND NOT m.repeated AND worker IS NOT NULL
    )
    SELECT json_build_object(
        'accepted', '{}'::json,
        'refused', coalesce(json_agg(m.job) FILTER (WHERE m.held IS NOT TRUE), '[]'),
        'repeated', coalesce(json_agg(m.job) FILTER (WHERE m.held IS NOT TRUE AND m.repeated), '[]'),
        'busy', coalesce(json_agg(m.job) FILTER (WHERE m.held), '[]'),
        'wakes', false)
    INTO answer FROM missing AS m;
    RETURN answer;
END $$;
