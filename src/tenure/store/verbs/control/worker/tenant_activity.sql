-- Return the activity counter of each of these tenants, or of all: a number that grows with everything that
-- a worker should act on. Only of tenants whose jobs the caller may run.
--
-- It grows at once, not at the commit. "open" is the first transaction that may still be in progress and
-- "next" the first that has not begun: when a later call returns an "open" that has reached the "next" of
-- this one, everything counted here is committed.
--
-- At most n tenants, by name, after "after", because each takes a lock until the end of the call; "more"
-- means that there are further ones.
CREATE OR REPLACE FUNCTION tenure.tenant_activity(names text[] DEFAULT NULL, after text DEFAULT '',
    n integer DEFAULT 250) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    open  CONSTANT xid8 := pg_snapshot_xmin(pg_current_snapshot());
    -- A snapshot does not show it: its end is the last finished transaction, and others began since.
    next  CONSTANT bigint := open::text::bigint + age(open::xid);
    found json;
    seen  integer;
BEGIN
    SELECT coalesce(json_object_agg(t.name,
        coalesce(pg_sequence_last_value(to_regclass(quote_ident(t.schema) || '.activity')), 0)), '{}'),
        count(*)
    INTO found, seen FROM (
        SELECT t.* FROM tenure.tenant AS t
        WHERE t.name > after AND (names IS NULL OR t.name = ANY (names))
          AND has_function_privilege(session_user, to_regprocedure(format('%I.promote(integer)', t.schema)),
              'EXECUTE')
        ORDER BY t.name LIMIT tenure.batch_size(n)) AS t;
    RETURN json_build_object('open', open::text::bigint, 'next', next, 'tenants', found, 'more', seen >= n);
END $$;
