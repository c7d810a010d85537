-- Return the options of a strategy; none without a name.
CREATE OR REPLACE FUNCTION tenant.strategy_options(strategy text) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_options jsonb;
BEGIN
    IF strategy IS NULL THEN
        RETURN '{}';
    END IF;
    SELECT s.options INTO found_options FROM tenant.strategy AS s WHERE s.name = strategy_options.strategy;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006',
            MESSAGE = format('there is no strategy %L; there are: %s', strategy,
            coalesce((SELECT string_agg(s.name, ', ' ORDER BY s.name) FROM tenant.strategy AS s), 'none'));
    END IF;
    RETURN found_options;
END $$;
