-- Add slots to a pool and remove free ones. Return the pool with the holders of its slots.
CREATE OR REPLACE FUNCTION tenant.change_slots(
    pool text, add text[] DEFAULT '{}', remove text[] DEFAULT '{}', by text DEFAULT NULL,
    via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    refusal CONSTANT json := tenant.forbidden('change_slots', 'admin', 'pool', pool, by, via, role);
    before  CONSTANT jsonb := tenant.slot_names(pool);
    holder  bigint;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF NOT EXISTS (SELECT FROM tenant.pool AS p WHERE p.name = change_slots.pool) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006', MESSAGE = format('there is no pool %L', pool);
    ELSIF EXISTS (SELECT FROM unnest(add) AS a WHERE coalesce(a, '') = '' OR length(a) > {slot.max}) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a slot has a name of 1 to {slot.max} characters';
    ELSIF cardinality(add) + (
            SELECT count(*) FROM tenant.slot AS s WHERE s.pool = change_slots.pool) > {slots.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a pool has at most {slots.max} slots';
    END IF;
    PERFORM FROM tenant.slot AS s WHERE s.pool = change_slots.pool AND s.name = ANY (remove) ORDER BY s.name
    FOR UPDATE;
    SELECT s.job_id INTO holder FROM tenant.slot AS s
    WHERE s.pool = change_slots.pool AND s.name = ANY (remove) AND s.job_id IS NOT NULL LIMIT 1;
    IF holder IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('job %s holds a slot that would be removed; stop it or release the slot first',
                holder);
    END IF;
    DELETE FROM tenant.slot AS s WHERE s.pool = change_slots.pool AND s.name = ANY (remove);
    INSERT INTO tenant.slot (pool, name) SELECT change_slots.pool, a FROM unnest(add) AS a ORDER BY a
    ON CONFLICT DO NOTHING;
    PERFORM tenant.write_audit(tenure.actor(by), via, 'change', 'pool', pool, NULL, before,
        tenant.slot_names(pool));
    PERFORM tenant.notify_idle(
        ARRAY(SELECT DISTINCT l.queue FROM tenant.lane AS l WHERE change_slots.pool = ANY (l.pools)));
    RETURN tenant.pools(pool) -> 0;
END $$;
