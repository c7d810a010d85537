-- Notify idle workers that these lanes have ready jobs.
CREATE OR REPLACE FUNCTION tenant.notify_lanes(lanes integer[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF lanes IS NOT NULL THEN
        PERFORM tenant.notify_idle(
            ARRAY(SELECT DISTINCT l.queue FROM tenant.lane AS l WHERE l.id = ANY (lanes)));
    END IF;
END $$;
