-- Add closed records to the tally, each once; reads of totals then read the sums and not the records.
CREATE OR REPLACE FUNCTION tenant.add_to_tally(n integer DEFAULT 1000) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    stops CONSTANT bigint[] := ARRAY(
        SELECT c.id FROM tenant.cancellation AS c WHERE NOT c.tallied AND c.completed_at IS NOT NULL
        ORDER BY c.id LIMIT n FOR UPDATE SKIP LOCKED);
BEGIN
    -- In order: two callers at once wait for each other but do not deadlock.
    INSERT INTO tenant.tally AS t SELECT * FROM tenant.tally_of(stops) ORDER BY 1, 2, 3
    ON CONFLICT (kind, labels, bucket) DO UPDATE SET n = t.n + excluded.n,
        seconds = t.seconds + excluded.seconds;
    UPDATE tenant.cancellation AS c SET tallied = true WHERE c.id = ANY (stops);
    RETURN cardinality(stops);
END $$;
