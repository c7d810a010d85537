-- Close the records whose last member has ended.
CREATE OR REPLACE FUNCTION tenant.close_complete(n integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    woken  bigint[];
    locked bigint[];
BEGIN
    WITH taken AS (
        DELETE FROM tenant.wake AS w WHERE w.id = ANY (ARRAY(
            SELECT o.id FROM tenant.wake AS o WHERE o.stop_id IS NOT NULL
            ORDER BY o.id LIMIT n FOR UPDATE SKIP LOCKED))
        RETURNING w.stop_id
    )
    SELECT array_agg(DISTINCT t.stop_id) INTO woken FROM taken AS t;
    IF woken IS NULL THEN
        RETURN 0;
    END IF;
    locked := ARRAY(SELECT c.id FROM tenant.cancellation AS c WHERE c.id = ANY (woken)
        FOR NO KEY UPDATE SKIP LOCKED);
    INSERT INTO tenant.wake (stop_id) SELECT w FROM unnest(woken) AS w WHERE w <> ALL (locked);
    RETURN (SELECT count(*) FILTER (WHERE tenant.close_if_complete(o)) FROM unnest(locked) AS o);
END $$;
