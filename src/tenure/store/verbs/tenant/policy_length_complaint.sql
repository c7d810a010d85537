-- Why this is not a length of time that a policy can wait for, as a sentence; null when it is.
CREATE OR REPLACE FUNCTION tenant.policy_length_complaint(name text, value jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF jsonb_typeof(value) = 'string' AND tenant.filter_reads(value #>> '{}', 'interval') THEN
        IF (value #>> '{}')::interval > interval '0' AND (value #>> '{}')::interval <= interval '100 years' THEN
            RETURN NULL;
        END IF;
    END IF;
    RETURN format('%s takes a length of time such as "30s" or "1h30m", longer than 0s and up to a hundred years, and %s is none', to_json(name), value);
END $$;
