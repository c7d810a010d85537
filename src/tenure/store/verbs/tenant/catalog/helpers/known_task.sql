-- Return what the newest announcement declares of a task, for all tenants or for this one; a row of nulls
-- if there is none.
CREATE OR REPLACE FUNCTION tenant.known_task(name text) RETURNS tenure.task
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    known tenure.task;
BEGIN
    SELECT t.* INTO known FROM tenure.task AS t
    WHERE t.name = known_task.name AND t.tenant IN ('', '{tenant}')
    ORDER BY t.announced_at DESC LIMIT 1;
    RETURN known;
END $$;
