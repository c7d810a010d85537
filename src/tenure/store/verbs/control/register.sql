-- A worker starts: a new identity with a fresh lease. The same id never comes back.
CREATE OR REPLACE FUNCTION tenure.register(
    worker uuid, host text, pid integer, lease interval, queues text[] DEFAULT NULL, tenants text[] DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    moment  CONSTANT timestamptz := tenure.now();
    -- Whose jobs it may run; null: everybody's. It is told of no other tenant.
    allowed CONSTANT text[] := ARRAY(SELECT t.name FROM tenure.tenant AS t
        WHERE has_function_privilege(session_user, to_regprocedure(format('%I.promote(integer)', t.schema)), 'EXECUTE'));
BEGIN
    IF tenants IS NOT NULL OR cardinality(allowed) < (SELECT count(*) FROM tenure.tenant) THEN
        tenants := ARRAY(SELECT a FROM unnest(allowed) AS a WHERE tenants IS NULL OR a = ANY (tenants));
    END IF;
    IF lease <= interval '0' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('a lease of %s does not last; give a longer one', lease);
    END IF;
    INSERT INTO tenure.worker (id, host, pid, lease, queues, tenants, started_at, beat_at, expires_at)
    VALUES (worker, host, pid, lease, queues, tenants, moment, moment, moment + lease);
    RETURN json_build_object('worker_id', worker, 'expires_at', moment + lease);
EXCEPTION WHEN unique_violation THEN
    RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('worker %s is registered already; a worker that starts anew draws a new id', worker);
END $$;
