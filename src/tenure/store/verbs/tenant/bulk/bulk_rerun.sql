-- Enqueue all ended jobs that match a filter again, as one operation with its own progress.
--
-- This only records the operation; advance_bulk carries it out. Each job is run again once, as by rerun:
-- with its arguments and options, for its owner. A job that has not ended, or has no code of its own, is
-- left alone.
CREATE OR REPLACE FUNCTION tenant.bulk_rerun(
    filter jsonb, reason text DEFAULT NULL, by text DEFAULT NULL, via text DEFAULT 'sql',
    role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN tenant.begin_bulk('bulk_rerun', filter, 'rerun', '{}', reason, by, via, role);
END $$;
