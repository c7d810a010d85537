-- A child that was enqueued while its parent was being stopped goes with its parent.
CREATE OR REPLACE FUNCTION tenant.join_stopped_parents(ours bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    stray record;
BEGIN
    FOR stray IN
        SELECT j.id, p.stop_id, p.state FROM tenant.job AS j JOIN tenant.job AS p ON p.id = j.parent_id
        WHERE j.id = ANY (ours) AND j.state = 'pending' AND (p.stop_id IS NOT NULL OR p.state = 'cancelled')
    LOOP
        PERFORM tenant.stop_members(stray.stop_id, ARRAY[stray.id]);
    END LOOP;
END $$;
