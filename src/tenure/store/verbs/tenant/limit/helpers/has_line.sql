-- Return whether jobs wait in the line of the first of these limits: then a new one waits behind them.
CREATE OR REPLACE FUNCTION tenant.has_line(limits text[]) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN coalesce(limits <> '{}', false)
        AND EXISTS (SELECT FROM tenant.limit_state AS s WHERE s.name = limits[1] AND s.lined);
END $$;
