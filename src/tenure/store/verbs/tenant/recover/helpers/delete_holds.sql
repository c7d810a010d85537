-- Delete the holds of dead workers on this tenant, once none of their jobs runs.
CREATE OR REPLACE FUNCTION tenant.delete_holds() RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    DELETE FROM tenure.hold AS h
    WHERE h.tenant = '{tenant}'
      AND (SELECT true FROM tenure.worker AS w WHERE w.id = h.worker_id AND w.dead_at IS NULL) IS NULL
      AND (SELECT true FROM tenant.job AS j WHERE j.worker_id = h.worker_id AND j.state = 'running'
          LIMIT 1) IS NULL;
END $$;
