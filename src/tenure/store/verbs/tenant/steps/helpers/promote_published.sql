-- Leave a wake for each job that waits for an event published since. In its own statement after both commits:
-- the publisher may not have seen the wait, nor the job the event.
CREATE OR REPLACE FUNCTION tenant.promote_published(n integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    published bigint[];
BEGIN
    WITH taken AS (
        DELETE FROM tenant.wake AS w WHERE w.id = ANY (ARRAY(
            SELECT o.id FROM tenant.wake AS o WHERE o.publication_id IS NOT NULL
            ORDER BY o.id LIMIT n FOR UPDATE SKIP LOCKED))
        RETURNING w.publication_id
    )
    SELECT array_agg(t.publication_id) INTO published FROM taken AS t;
    IF published IS NULL THEN
        RETURN 0;
    END IF;
    INSERT INTO tenant.wake (job_id)
    SELECT DISTINCT s.job_id FROM tenant.publication AS p JOIN tenant.job_step AS s
        ON s.event = p.name AND s.key = p.key AND s.ended_at IS NULL AND s.event IS NOT NULL
    WHERE p.id = ANY (published);
    RETURN cardinality(published);
END $$;
