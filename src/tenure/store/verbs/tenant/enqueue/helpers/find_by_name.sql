-- Return the id of a job that is named by its id, or by the key of a job that precedes it in the same call.
CREATE OR REPLACE FUNCTION tenant.find_by_name(name jsonb, place integer, places jsonb, ids bigint[])
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    named_place CONSTANT integer := places ->> (name #>> '{}');
BEGIN
    IF jsonb_typeof(name) = 'number' AND name::text ~ '^[0-9]{1,18}$' THEN
        RETURN name::text::bigint;
    ELSIF jsonb_typeof(name) = 'string' THEN
        IF named_place < place THEN
            RETURN ids[named_place];
        END IF;
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = CASE
            WHEN named_place = place THEN format('job %s cannot come after itself', name)
            WHEN named_place IS NOT NULL
            THEN format(
                'job %s is named by one that stands before it; put it first, unless the two form a cycle',
                name)
            ELSE format('no job of this call has the key %s', name) END;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'TN001',
        MESSAGE = format('%s is neither the id of a job nor a key of this call', name);
END $$;
