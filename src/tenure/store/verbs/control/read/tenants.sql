-- List every tenant by name, and whether it is paused.
CREATE OR REPLACE FUNCTION tenure.tenants() RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place  tenure.tenant;
    paused boolean;
    seen   json[] := '{}';
BEGIN
    FOR place IN SELECT t.* FROM tenure.tenant AS t ORDER BY t.name LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %I.pause AS p WHERE p.subject = ''tenant'')', place.schema)
        INTO paused;
        seen := seen || json_build_object('name', place.name, 'schema', place.schema,
            'created_at', place.created_at, 'paused', paused);
    END LOOP;
    RETURN coalesce(array_to_json(seen), '[]');
END $$;
