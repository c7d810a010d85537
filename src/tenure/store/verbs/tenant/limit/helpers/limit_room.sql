-- Return how many jobs may start now under a limit, those included whose place is kept.
CREATE OR REPLACE FUNCTION tenant.limit_room(l tenure.open_limit) RETURNS integer
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF l.closed_until IS NOT NULL
            OR tenant.limit_wait(l.rates, l.levels, tenant.job_needs(l.rates, 0)) > 0 THEN
        RETURN 0;
    END IF;
    RETURN greatest(least(1000000, floor((l.levels ->> 'calls')::numeric), l.at_once - l.running), 0);
END $$;
