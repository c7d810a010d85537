-- Return the rule for a name: its own, or else that of the template with the longest text besides its keys.
-- A row of nulls: nothing limits it.
CREATE OR REPLACE FUNCTION tenant.limit_for(name text) RETURNS tenant.limit_rule
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rule tenant.limit_rule;
BEGIN
    SELECT r.* INTO rule FROM tenant.limit_rule AS r WHERE limit_for.name LIKE r.pattern
    ORDER BY (r.name = limit_for.name) DESC, length(regexp_replace(r.name, '\{[^{}]*\}', '', 'g')) DESC,
        r.name LIMIT 1;
    RETURN rule;
END $$;
