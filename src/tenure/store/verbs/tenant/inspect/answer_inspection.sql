-- Store a worker's answer to an inspection of a job that it holds. Refused without the fence, and when this
-- inspection is no longer waited for.
CREATE OR REPLACE FUNCTION tenant.answer_inspection(worker uuid, job bigint, token bigint, inspection bigint,
    answer jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    accepted boolean := false;
BEGIN
    IF answer IS NULL OR jsonb_typeof(answer) <> 'object' OR octet_length(answer::text) > 262144 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'the answer to an inspection is a JSON object of at most 262144 bytes';
    END IF;
    PERFORM FROM tenure.worker AS w WHERE w.id = worker AND w.dead_at IS NULL FOR KEY SHARE;
    IF FOUND THEN
        PERFORM FROM tenant.job AS j WHERE j.id = answer_inspection.job AND j.state::text = 'running'
            AND j.worker_id = answer_inspection.worker AND j.token = answer_inspection.token FOR SHARE;
        IF FOUND THEN
            UPDATE tenant.inspection AS l SET answer = answer_inspection.answer, answered_at = tenure.now()
            WHERE l.job_id = answer_inspection.job AND l.id = answer_inspection.inspection
              AND l.token = answer_inspection.token
              AND l.answered_at IS NULL;
            accepted := FOUND;
            DELETE FROM tenure.signal AS s WHERE s.tenant = '{tenant}' AND s.job_id = answer_inspection.job
                AND s.orders -> 'inspection' = to_jsonb(answer_inspection.inspection);
        END IF;
    END IF;
    RETURN json_build_object('accepted', accepted);
END $$;
