-- The id of a job that is named by its id, or by the key of a job earlier in the same call.
CREATE OR REPLACE FUNCTION tenant.named(name jsonb, places jsonb, ids bigint[]) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known bigint;
BEGIN
    IF jsonb_typeof(name) = 'number' AND name::text ~ '^[0-9]{1,18}$' THEN
        RETURN name::text::bigint;
    ELSIF jsonb_typeof(name) = 'string' THEN
        known := ids[(places ->> (name #>> '{}'))::integer];
        IF known IS NOT NULL THEN
            RETURN known;
        END IF;
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = CASE WHEN places ? (name #>> '{}')
            THEN format('job %s is named by one that does not stand after it; put it first, unless the two form a cycle', name)
            ELSE format('no job of this call has the key %s', name) END;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('%s is neither the id of a job nor a key of this call', name);
END $$;
