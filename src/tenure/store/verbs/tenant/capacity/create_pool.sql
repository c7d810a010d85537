-- Create a pool of named slots.
CREATE OR REPLACE FUNCTION tenant.create_pool(
    pool text, slots text[] DEFAULT '{}', by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    refusal CONSTANT json := tenant.forbidden('create_pool', 'admin', 'pool', pool, by, via, role);
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF coalesce(pool, '') = '' OR length(pool) > {pool.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a pool has a name of 1 to {pool.max} characters';
    ELSIF cardinality(slots) > {slots.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a pool has at most {slots.max} slots';
    ELSIF (SELECT count(*) FROM tenant.pool) >= {pools_in_all.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a tenant has at most {pools_in_all.max} pools';
    END IF;
    INSERT INTO tenant.pool (name, created_at) VALUES (create_pool.pool, tenure.now()) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN004',
            MESSAGE = format('there is a pool %L already; add slots to it', pool);
    END IF;
    IF EXISTS (SELECT FROM unnest(slots) AS s WHERE coalesce(s, '') = '' OR length(s) > {slot.max}) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a slot has a name of 1 to {slot.max} characters';
    END IF;
    INSERT INTO tenant.slot (pool, name) SELECT create_pool.pool, s FROM unnest(slots) AS s ORDER BY s
    ON CONFLICT DO NOTHING;
    PERFORM tenant.write_audit(tenure.actor(by), via, 'create', 'pool', pool, NULL, NULL,
        tenant.slot_names(pool));
    RETURN tenant.pools(pool) -> 0;
END $$;
