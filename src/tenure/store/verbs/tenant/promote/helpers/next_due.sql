-- Return the seconds until the next job that waits for its time, or for a limit; null: none does.
CREATE OR REPLACE FUNCTION tenant.next_due() RETURNS double precision
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    due CONSTANT timestamptz := least(
        (SELECT j.run_at FROM tenant.job AS j WHERE j.waiting IN ('time', 'event', 'answer')
            ORDER BY j.run_at LIMIT 1),
        (SELECT s.due_at FROM tenant.limit_state AS s WHERE s.lined AND s.due_at < 'infinity'
            ORDER BY s.due_at LIMIT 1),
        -- Another transaction had the limit, or a claim left jobs to the next one.
        (SELECT tenure.now() + interval '20 milliseconds' FROM tenant.wake AS w
            WHERE w.limit_name IS NOT NULL LIMIT 1));
BEGIN
    -- Not by greatest alone: it would make 0 of null.
    RETURN CASE WHEN due IS NOT NULL THEN greatest(tenure.seconds_between(tenure.now(), due), 0) END;
END $$;
