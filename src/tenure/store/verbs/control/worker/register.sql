-- Register a worker: a new identity with a fresh lease. An id is never used again. From now on only the
-- database role that registered the worker may act for it.
CREATE OR REPLACE FUNCTION tenure.register(
    worker uuid, host text, pid integer, lease interval, queues text[] DEFAULT NULL,
    tenants text[] DEFAULT NULL, capacity jsonb DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    -- The tenants whose jobs it may run; null: all. Other tenants are not disclosed.
    allowed CONSTANT text[] := ARRAY(SELECT t.name FROM tenure.tenant AS t
        WHERE has_function_privilege(session_user, to_regprocedure(format('%I.promote(integer)', t.schema)),
            'EXECUTE'));
    unknown CONSTANT text := (SELECT t FROM unnest(tenants) AS t WHERE t <> ALL (allowed) ORDER BY t LIMIT 1);
BEGIN
    IF unknown IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006',
            MESSAGE = format('there is no tenant %L whose jobs this worker may run; see: tenure tenant list',
                unknown);
    END IF;
    IF tenants IS NOT NULL OR cardinality(allowed) < (SELECT count(*) FROM tenure.tenant) THEN
        tenants := ARRAY(SELECT a FROM unnest(allowed) AS a WHERE tenants IS NULL OR a = ANY (tenants));
    END IF;
    IF worker IS NULL OR host IS NULL OR pid IS NULL OR lease IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a worker has an id, a host, a pid and a lease';
    ELSIF length(host) NOT BETWEEN 1 AND {host.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            'the name of a host has 1 to {host.max} characters';
    ELSIF lease > {lease.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a lease lasts for a day at most';
    ELSIF queues IS NOT NULL AND NOT tenure.are_names(to_jsonb(queues), {served.max}, {served.each}) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            'a worker serves at most {served.max} queues by name';
    ELSIF EXISTS (SELECT FROM jsonb_each(capacity) AS c WHERE c.key NOT IN ('async', 'process', 'thread')
            OR NOT tenure.is_whole(c.value, 1, {at_once.max})) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            'a worker runs 1 to {at_once.max} jobs at once of the kinds async, process and thread';
    ELSIF lease <= interval '0' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('a lease of %s does not last; give a longer one', lease);
    END IF;
    INSERT INTO tenure.worker (id, host, pid, lease, queues, tenants, started_at, beat_at, expires_at,
        registered_by, capacity)
    VALUES (worker, host, pid, lease, queues, tenants, now_ts, now_ts, now_ts + lease, session_user,
        coalesce(capacity, '{}'));
    RETURN json_build_object('worker_id', worker, 'expires_at', now_ts + lease);
EXCEPTION WHEN unique_violation THEN
    RAISE EXCEPTION USING ERRCODE = 'TN001',
        MESSAGE = format('worker %s is registered already; a worker that starts again draws a new id',
            worker);
END $$;
