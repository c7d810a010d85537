-- Notify those who follow the output of these jobs. It is a hint: readers also poll.
CREATE OR REPLACE FUNCTION tenant.notify_readers(jobs bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM pg_notify('tenure_events',
        json_build_object('tenant', '{tenant}', 'kind', 'output', 'job_id', r.job_id)::text)
    FROM tenant.reader AS r WHERE r.job_id = ANY (jobs) AND r.until > tenure.now();
END $$;
