-- List for deletion the artifacts of jobs that a stop cancelled, if they are not preserved, by its own
-- option or else by that of their tasks, whatever ended the jobs.
CREATE OR REPLACE FUNCTION tenant.discard_artifacts(stop bigint) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    -- A job without a token has never run and has no artifacts.
    INSERT INTO tenant.discard (job_id)
    SELECT m.job_id FROM tenant.cancellation AS c
    JOIN tenant.member AS m ON m.stop_id = c.id AND m.token > 0
        AND coalesce(m.became, 'cancelled') = 'cancelled'
    JOIN tenant.payload AS p ON p.job_id = m.job_id
    WHERE c.id = stop AND c.intent = 'cancel' AND CASE WHEN c.preserve IS NULL
        THEN p.options @> '{"preserve_artifacts": false}' ELSE NOT c.preserve END
    ON CONFLICT DO NOTHING;
    IF FOUND THEN
        PERFORM nextval('tenant.activity');  -- workers delete them
    END IF;
END $$;
