-- Return the names of a pool's slots.
CREATE OR REPLACE FUNCTION tenant.slot_names(pool text) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN (SELECT coalesce(jsonb_agg(s.name ORDER BY s.name), '[]') FROM tenant.slot AS s
        WHERE s.pool = slot_names.pool);
END $$;
