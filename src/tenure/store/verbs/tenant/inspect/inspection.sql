-- Return the latest inspection of the current attempt, with its answer once there is one; null: none was
-- asked.
CREATE OR REPLACE FUNCTION tenant.inspection(
    job bigint, by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    refusal CONSTANT json := tenant.forbidden('inspect', 'operator', 'job', inspection.job::text, by, via,
        role);
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    RETURN coalesce((
        SELECT (coalesce(l.answer, '{}')
            || jsonb_build_object('id', l.id, 'job_id', l.job_id, 'asked_by', l.asked_by,
            'asked_at', l.asked_at, 'answered_at', l.answered_at))::json
        FROM tenant.inspection AS l JOIN tenant.job AS j ON j.id = l.job_id AND j.token = l.token
            AND j.state::text = 'running'
        WHERE l.job_id = inspection.job), 'null');
END $$;
