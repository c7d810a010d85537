-- Return the seconds until the next job that waits for its time; null: none does.
CREATE OR REPLACE FUNCTION tenant.next_due() RETURNS double precision
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    RETURN (SELECT greatest(tenure.seconds_between(tenure.now(), j.run_at), 0) FROM tenant.job AS j
            WHERE j.waiting = 'time' ORDER BY j.run_at LIMIT 1);
END $$;
