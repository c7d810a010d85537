-- How far each of these tenants has come: a number that moves with whatever a worker should look at. Without
-- names, those of all tenants. Only of tenants whose jobs the caller may run.
--
-- It moves at once, not at the commit. "open" is the first transaction that may still be under way and
-- "next" the first that has not begun, so that who asks again can tell when all it has seen move is
-- committed: when "open" has reached the "next" of then.
--
-- At most n of them, by name and after this one, because each takes a lock until the end of the call; "more"
-- says that there are further ones.
CREATE OR REPLACE FUNCTION tenure.tenant_activity(names text[] DEFAULT NULL, after text DEFAULT '',
    n integer DEFAULT 250) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    open  CONSTANT xid8 := pg_snapshot_xmin(pg_current_snapshot());
    -- A snapshot does not tell: its end is the last transaction that is over, and others began since.
    next  CONSTANT bigint := open::text::bigint + age(open::xid);
    found json;
    seen  integer;
BEGIN
    SELECT coalesce(json_object_agg(t.name,
        coalesce(pg_sequence_last_value(to_regclass(quote_ident(t.schema) || '.turn')), 0)), '{}'), count(*)
    INTO found, seen FROM (
        SELECT t.* FROM tenure.tenant AS t
        WHERE t.name > after AND (names IS NULL OR t.name = ANY (names))
          AND has_function_privilege(session_user, to_regprocedure(format('%I.promote(integer)', t.schema)),
              'EXECUTE')
        ORDER BY t.name LIMIT tenure.batch_size(n)) AS t;
    RETURN json_build_object('open', open::text::bigint, 'next', next, 'tenants', found, 'more', seen >= n);
END $$;
