-- Return whether the stops of a bulk operation are forced, by its own options or by its strategy.
CREATE OR REPLACE FUNCTION tenant.bulk_forces(options jsonb) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce((options -> 'force')::boolean,
        (tenant.strategy_options(options ->> 'strategy') -> 'force')::boolean, false);
END $$;
