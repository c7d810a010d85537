-- Wait until no other large claim of this tenant is under way, but no longer than 250 ms.
--
-- Claims at the same time read the same front of the queue. Each steps over what the others have locked, and
-- if another commits meanwhile it locks that one's running jobs, so that their outcomes are found busy. Turns
-- make this rare; nothing depends on them. The turn ends with the transaction.
CREATE OR REPLACE FUNCTION tenant.await_turn() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET lock_timeout = '250ms' AS $$
BEGIN
    PERFORM pg_advisory_xact_lock('tenant.lane'::regclass::oid::bigint::bit(32)::integer, 0);
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
    NULL;
END $$;
