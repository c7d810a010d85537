-- Return the first target name after this one that is held, closed, waited for or paused.
CREATE OR REPLACE FUNCTION tenant.next_target(after text) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    RETURN least(
        (SELECT j.target FROM tenant.job AS j WHERE j.blocks AND j.target > next_target.after
            ORDER BY j.target LIMIT 1),
        (SELECT j.target FROM tenant.job AS j WHERE j.waiting = 'target' AND j.target > next_target.after
            ORDER BY j.target LIMIT 1),
        (SELECT p.name FROM tenant.pause AS p WHERE p.subject = 'target' AND p.name > next_target.after
            ORDER BY p.name LIMIT 1));
END $$;
