-- Wait a short time for the lock of a limit and return whether it was granted. The time is shorter than that
-- after which PostgreSQL looks for deadlocks: claims that lock two limits in different orders lose no more.
CREATE OR REPLACE FUNCTION tenant.wait_for_limit(name text) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '200ms' AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(tenant.limit_class(), hashtext(name));
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    RETURN false;
END $$;
