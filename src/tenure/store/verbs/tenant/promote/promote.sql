-- Make jobs ready that have become claimable, and close the records that are complete.
--
-- Runs after the commit of whatever left a wake, with fresh snapshots and without ever waiting: locked rows
-- keep their wake and are checked again. Any number of callers may run it at once. "more" means that a
-- batch was full, "next_due" is the number of seconds until the next job's time, and "chores" what else can
-- be done.
CREATE OR REPLACE FUNCTION tenant.promote(n integer DEFAULT 500) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    declared integer := tenant.promote_announced(tenure.batch_size(n));
    published integer := tenant.promote_published(n);
    linked   integer := tenant.promote_linked(n);
    due      integer := tenant.promote_due(n);
    lined    integer := tenant.promote_targets(n);
    limited  integer := tenant.promote_limits(n);
    closed   integer := tenant.close_complete(n);
BEGIN
    RETURN json_build_object('published', published, 'linked', linked, 'due', due, 'targets', lined,
        'limits', limited, 'closed', closed,
        'more', greatest(declared, published, linked, due, lined, limited, closed) >= n,
        'next_due', tenant.next_due(),
        'chores', to_json(tenant.open_chores()));
END $$;
