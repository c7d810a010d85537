-- Make ready what has become claimable, and close the records that are complete.
--
-- Runs after the commit of whatever left a wake, with fresh snapshots and without ever waiting: what
-- somebody has locked keeps its wake and is looked at again. Any number of callers may run it at
-- once. "more" says that a batch was full, "next_due" in how many seconds the next job's time comes,
-- "chores" what else there is to do here.
CREATE OR REPLACE FUNCTION tenant.promote(n integer DEFAULT 500) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    declared integer := tenant.promote_announced(tenure.batch_size(n));
    linked  integer := tenant.promote_linked(n);
    due     integer := tenant.promote_due(n);
    lined   integer := tenant.promote_targets(n);
    closed  integer := tenant.close_complete(n);
BEGIN
    RETURN json_build_object('linked', linked, 'due', due, 'targets', lined, 'closed', closed,
        'more', greatest(declared, linked, due, lined, closed) >= n, 'next_due', tenant.next_due(),
        'chores', to_json(tenant.chores()));
END $$;
