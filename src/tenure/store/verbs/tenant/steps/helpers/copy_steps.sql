-- Give a new job what another one did before a step: all that was written before the first call of it, or
-- before exactly "read#3". "edits" replaces values by name, and keeps those steps.
CREATE OR REPLACE FUNCTION tenant.copy_steps(source bigint, target bigint, from_step text, edits jsonb)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    first  bigint;
    absent text := (SELECT k FROM jsonb_object_keys(edits) AS k WHERE NOT EXISTS (
        SELECT FROM tenant.job_step AS s WHERE s.job_id = source AND s.name = k AND s.ended_at IS NOT NULL)
        ORDER BY k LIMIT 1);
    wrong  CONSTANT text := (SELECT k.key FROM jsonb_each(edits) AS k
        WHERE pg_column_size(k.value) > {args.max} OR tenure.json_error(k.value) IS NOT NULL
        ORDER BY k.key LIMIT 1);
BEGIN
    IF wrong IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('the value of step %s takes at most '
            '{args.max} bytes of JSON that every reader can take', left(wrong, 100));
    END IF;
    IF from_step IS NOT NULL THEN
        first := (SELECT min(s.id) FROM tenant.job_step AS s WHERE s.job_id = source
            AND (s.name = from_step
                 OR left(s.name, length(from_step) + 1) IN (from_step || '#', from_step || '/')));
        absent := CASE WHEN first IS NULL THEN from_step ELSE absent END;
    END IF;
    IF absent IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN002', MESSAGE = format('job %s has no step %L; it has: %s', source,
            absent, coalesce((SELECT string_agg(s.name, ', ' ORDER BY s.id) FROM (
                SELECT s.name, s.id FROM tenant.job_step AS s WHERE s.job_id = source
                ORDER BY s.id LIMIT 20) AS s),
                'none'));
    END IF;
    INSERT INTO tenant.job_step (job_id, name, kind, digest, value, artifact, spent, attempts, changes,
        started_at, ended_at, due_at, timed_out, event, key, publication_id, question, answered_by)
    SELECT target, s.name, s.kind, s.digest,
        CASE WHEN edits ? s.name THEN edits -> s.name ELSE s.value END,
        CASE WHEN NOT coalesce(edits ? s.name, false) THEN s.artifact END, s.spent, s.attempts, s.changes,
        s.started_at, s.ended_at, s.due_at, s.timed_out AND NOT coalesce(edits ? s.name, false), s.event,
        s.key,
        s.publication_id, s.question, s.answered_by
    FROM tenant.job_step AS s
    WHERE s.job_id = source AND s.ended_at IS NOT NULL AND (
        (s.error IS NULL AND (first IS NULL OR s.id < first)) OR edits ? s.name)
    ORDER BY s.id;
END $$;
