-- Lock the roots of these jobs' trees, then the jobs, each in the order of their ids.
--
-- Verbs that change several jobs and may wait (stop, resume, clear) lock through here, so they cannot
-- deadlock. A root that is found too late to be locked in order is not waited for.
CREATE OR REPLACE FUNCTION tenant.lock_tree(ids bigint[], locked bigint[] DEFAULT '{}') RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    roots bigint[] := ARRAY(SELECT DISTINCT j.root_id FROM tenant.job AS j
        WHERE j.id = ANY (ids) AND j.root_id <> ALL (locked) ORDER BY j.root_id);
BEGIN
    IF roots[1] < locked[cardinality(locked)] THEN
        PERFORM FROM tenant.job AS j WHERE j.id = ANY (roots) ORDER BY j.id FOR UPDATE NOWAIT;
    ELSE
        PERFORM FROM tenant.job AS j WHERE j.id = ANY (roots) ORDER BY j.id FOR UPDATE;
    END IF;
    PERFORM FROM tenant.job AS j WHERE j.id = ANY (ids) ORDER BY j.id FOR UPDATE;
    RETURN ARRAY(SELECT r FROM unnest(locked || roots) AS r ORDER BY r);
END $$;
