-- Resume all paused and failed jobs that match a filter, as one operation with its own progress: from their
-- checkpoints, or "fresh" from the start.
--
-- This only records the operation; advance_bulk carries it out. Each job is resumed as by resume, oldest
-- first, together with what was paused with it. A job that cannot be resumed is counted as failed.
CREATE OR REPLACE FUNCTION tenant.bulk_resume(
    filter jsonb, fresh boolean DEFAULT false, reason text DEFAULT NULL,
    by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN tenant.begin_bulk('bulk_resume', filter, 'resume',
        CASE WHEN fresh THEN '{"fresh": true}' ELSE '{}' END::jsonb, reason, by, via, role);
END $$;
