-- Store the steps that running jobs have ended, for those reports whose fence holds. A step that runs again
-- replaces its row; the partial results of a run that did not end are deleted when it runs again.
CREATE OR REPLACE FUNCTION tenant.keep_steps(
    reports jsonb, accepted bigint[], tokens bigint[], now_ts timestamptz
) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    held CONSTANT jsonb := (SELECT coalesce(jsonb_agg(r.value ORDER BY r.place), '[]')
        FROM jsonb_array_elements(reports) WITH ORDINALITY AS r(value, place)
        WHERE EXISTS (SELECT FROM unnest(accepted, tokens) AS a(job, token)
            WHERE a.job = (r.value ->> 'job')::bigint AND a.token = (r.value ->> 'token')::bigint));
BEGIN
    DELETE FROM tenant.partial AS p
    USING jsonb_to_recordset(held) AS r(job bigint, forget_partials jsonb)
    WHERE p.job_id = r.job AND r.forget_partials ? p.step;
    INSERT INTO tenant.job_step AS s (job_id, name, digest, value, artifact, error, spent, attempts,
        started_at, ended_at)
    SELECT t.job, t.name, t.digest, t.value, t.artifact, t.error, t.spent, t.attempts,
        now_ts - make_interval(secs => t.took), now_ts
    FROM (
        SELECT DISTINCT ON (o.job, o.name) o.* FROM (
        SELECT r.job, w.*, row_number() OVER () AS place
        FROM jsonb_to_recordset(held) AS r(job bigint, steps jsonb)
        CROSS JOIN LATERAL jsonb_to_recordset(r.steps) AS w(name text, digest text, value jsonb,
            artifact text, error jsonb, spent jsonb, attempts integer, took double precision)) AS o
        ORDER BY o.job, o.name, o.place DESC) AS t
    ORDER BY t.place
    ON CONFLICT (job_id, name) DO UPDATE SET
        id = DEFAULT, kind = 'step', digest = excluded.digest, value = excluded.value,
        artifact = excluded.artifact, error = excluded.error, started_at = excluded.started_at,
        ended_at = excluded.ended_at, due_at = NULL, timed_out = false, event = NULL, key = NULL,
        publication_id = NULL, question = NULL, answered_by = NULL,
        spent = tenant.sum_amounts(s.spent, excluded.spent), attempts = s.attempts + excluded.attempts,
        changes = s.changes + (s.digest <> excluded.digest)::integer;
END $$;
