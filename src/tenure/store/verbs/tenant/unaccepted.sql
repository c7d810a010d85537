-- Tell what was refused from what is only busy; the refused are counted and kept as events.
--
-- In a statement of its own, so that it sees what changed the row. "retry" is false when the worker
-- itself is dead: then nothing it says will ever count.
CREATE OR REPLACE FUNCTION tenant.unaccepted(outcomes jsonb, worker uuid, done bigint[], tokens bigint[], retry boolean) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    answer json;
BEGIN
    WITH missing AS MATERIALIZED (
        SELECT t.job, t.token, t.outcome, t.value, j.state, j.token AS token_now, j.worker_id AS worker_now,
            retry AND j.state = 'running' AND j.worker_id = coalesce(unaccepted.worker, t.worker)
                AND j.token = t.token IS TRUE AS held
        FROM jsonb_to_recordset(outcomes) AS t(job bigint, token bigint, worker uuid, outcome text, value jsonb)
        LEFT JOIN tenant.job AS j ON j.id = t.job
        WHERE NOT EXISTS (SELECT FROM unnest(done, tokens) AS d(job, token) WHERE d.job = t.job AND d.token = t.token)
    ), noted AS (
        INSERT INTO tenant.event (at, kind, job_id, worker_id, detail)
        SELECT tenure.now(), 'refused', m.job, unaccepted.worker, jsonb_build_object(
            'outcome', m.outcome, 'token', m.token, 'state', m.state, 'worker_now', m.worker_now,
            'value', CASE WHEN pg_column_size(m.value) < 10000 THEN m.value END)
        FROM missing AS m WHERE m.held IS NOT TRUE AND worker IS NOT NULL
    )
    SELECT json_build_object(
        'accepted', '{}'::json,
        'refused', coalesce(json_agg(m.job) FILTER (WHERE m.held IS NOT TRUE), '[]'),
        'busy', coalesce(json_agg(m.job) FILTER (WHERE m.held), '[]'),
        'wakes', false)
    INTO answer FROM missing AS m;
    RETURN answer;
END $$;
