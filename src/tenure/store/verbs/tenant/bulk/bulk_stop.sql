-- Cancel or pause all jobs that match a filter now, as one operation with its own progress.
--
-- This only records the operation; advance_bulk carries it out batch by batch, called by workers and by
-- clients that wait. Jobs that are enqueued later are not touched. Each stop has its own record, with the
-- options of stop. An operator's bulk stop changes its own jobs and counts the others as refused.
CREATE OR REPLACE FUNCTION tenant.bulk_stop(
    filter jsonb, intent text DEFAULT 'cancel', reason text DEFAULT NULL, strategy text DEFAULT NULL,
    force boolean DEFAULT NULL, "cascade" boolean DEFAULT NULL, grace interval DEFAULT NULL,
    ask_for interval DEFAULT NULL,
    last_rung tenure.rung DEFAULT NULL, rollback boolean DEFAULT NULL, preserve boolean DEFAULT NULL,
    by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    options tenure.stop_options;
BEGIN
    IF intent IS NULL OR intent NOT IN ('cancel', 'pause') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('a stop cancels or pauses; %L is neither', intent);
    END IF;
    options := ROW(strategy, force, "cascade", grace, ask_for, last_rung, preserve, rollback, NULL);
    RETURN tenant.begin_bulk('bulk_stop', filter, intent, jsonb_strip_nulls(to_jsonb(options)), reason, by,
        via, role);
END $$;
