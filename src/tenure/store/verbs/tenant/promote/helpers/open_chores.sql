-- Return what any worker can do for this tenant now besides running jobs.
CREATE OR REPLACE FUNCTION tenant.open_chores() RETURNS text[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    RETURN array_remove(ARRAY[
        CASE WHEN EXISTS (SELECT FROM tenant.bulk AS b WHERE b.ended_at IS NULL) THEN 'bulks' END,
        CASE WHEN EXISTS (SELECT FROM tenant.discard AS d) THEN 'discards' END,
        CASE WHEN EXISTS (SELECT FROM tenant.policy AS p WHERE p.enabled) THEN 'policies' END,
        CASE WHEN EXISTS (SELECT FROM tenant.delivery AS d WHERE d.due_at IS NOT NULL)
            THEN 'webhooks' END], NULL);
END $$;
