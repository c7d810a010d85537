-- List tokens by id, without their digests: those of this tenant; in the default tenant those of all, or of
-- one.
CREATE OR REPLACE FUNCTION tenant.tokens(of_tenant text DEFAULT NULL) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(json_agg(to_jsonb(k) - 'digest' ORDER BY k.id), '[]') FROM tenure.bearer AS k
    WHERE (of_tenant IS NULL OR k.tenant = of_tenant)
      AND k.tenant IN ('{tenant}', CASE WHEN '{tenant}' = 'default' THEN k.tenant END);
$$;
