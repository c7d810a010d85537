-- Return why this is not a duration that a policy can wait for, as a sentence; null if it is.
--
-- It is stored as text and read again in other sessions, so it must mean the same under all settings.
CREATE OR REPLACE FUNCTION tenant.policy_duration_error(name text, value jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF jsonb_typeof(value) = 'string' AND coalesce(tenure.as_seconds(value) > 0
            AND tenure.as_seconds(value) <= extract(epoch FROM {grace.max}), false) THEN
        RETURN NULL;
    END IF;
    RETURN format('%s takes a length of time such as "30s" or "1h30m", longer than 0s and up to 36500 days, '
        'and %s is none', to_json(name), left(value::text, 100));
END $$;
