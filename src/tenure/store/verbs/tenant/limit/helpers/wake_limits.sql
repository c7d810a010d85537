-- Let promote look at the lines of these limits, named by a rule or by themselves.
CREATE OR REPLACE FUNCTION tenant.wake_limits(name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- Whether a line waits is not asked: one may be forming in a claim that has read the limit as it was.
    INSERT INTO tenant.wake (limit_name) SELECT s.name FROM tenant.limit_state AS s
    WHERE s.name LIKE tenant.limit_pattern(wake_limits.name);
    PERFORM tenant.notify_idle(ARRAY(SELECT DISTINCT l.queue FROM tenant.lane AS l WHERE l.limited));
END $$;
