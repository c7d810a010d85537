-- Return whether these options are of the common kind and therefore valid: a fast check before
-- "options_error".
--
-- A single expression without a query. An option that it does not know is not invalid, only not plain.
CREATE OR REPLACE FUNCTION tenure.are_plain_options(options jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    span  CONSTANT text := '^[1-9][0-9]{0,3}[smh]([1-9][0-9]?[sm])?$';  -- "30s", "1h30m": more than zero
    retry CONSTANT jsonb := options -> 'retry';
BEGIN
    RETURN jsonb_typeof(options) = 'object'
        AND options - ARRAY['timeout', 'grace', 'ask_for', 'close_timeout', 'retry', 'preserve_artifacts',
            'cancel_pauses', 'trace'] = '{}'
        AND coalesce(options ->> 'timeout' ~ span, NOT options ? 'timeout')
        AND coalesce(options ->> 'grace' ~ span, NOT options ? 'grace')
        AND coalesce(options ->> 'ask_for' ~ span, NOT options ? 'ask_for')
        AND coalesce(options ->> 'close_timeout' ~ span, NOT options ? 'close_timeout')
        AND coalesce(jsonb_typeof(options -> 'preserve_artifacts') = 'boolean', true)
        AND coalesce(jsonb_typeof(options -> 'cancel_pauses') = 'boolean', true)
        AND coalesce(jsonb_typeof(options -> 'trace') = 'string', true) AND pg_column_size(options) < 1000
        AND (retry IS NULL OR jsonb_typeof(retry) = 'object'
            AND retry - ARRAY['max', 'base', 'factor', 'cap', 'jitter', 'never'] = '{}'
            AND coalesce((retry -> 'max')::text ~ '^[0-9]{1,4}$', false)
            AND CASE WHEN retry ->> 'base' ~ span AND retry ->> 'cap' ~ span
                THEN (retry ->> 'base')::interval <= (retry ->> 'cap')::interval ELSE false END
            AND coalesce((retry -> 'factor')::text ~ '^[1-9][0-9]{0,1}(\.[0-9]{1,9})?$', true)
            AND coalesce((retry -> 'jitter')::text ~ '^(0(\.[0-9]{1,9})?|1)$', true)
            AND coalesce(retry -> 'never' = '[]', true));
END $$;
