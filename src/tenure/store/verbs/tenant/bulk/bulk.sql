-- Return a bulk operation and its progress.
CREATE OR REPLACE FUNCTION tenant.bulk(id bigint) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found json := (SELECT to_json(b) FROM tenant.bulk AS b WHERE b.id = bulk.id);
BEGIN
    IF found IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006',
            MESSAGE = format('there is no bulk operation %s', coalesce(id::text, 'without an id'));
    END IF;
    RETURN found;
END $$;
