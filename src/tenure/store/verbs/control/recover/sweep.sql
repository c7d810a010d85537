-- Declare late workers dead, and return the tenants in which dead workers have claimed jobs that are not
-- recovered yet; only tenants whose jobs the caller may run.
CREATE OR REPLACE FUNCTION tenure.sweep(grace interval DEFAULT '0') RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    declared CONSTANT json := tenure.declare_dead(grace);
BEGIN
    RETURN json_build_object('dead', declared -> 'dead', 'tenants', (
        SELECT coalesce(json_agg(DISTINCT h.tenant), '[]')
        FROM tenure.hold AS h JOIN tenure.tenant AS t ON t.name = h.tenant
        LEFT JOIN tenure.worker AS w ON w.id = h.worker_id
        WHERE (w.id IS NULL OR w.dead_at IS NOT NULL)
          AND has_function_privilege(session_user, to_regprocedure(format('%I.promote(integer)', t.schema)),
              'EXECUTE')));
END $$;
