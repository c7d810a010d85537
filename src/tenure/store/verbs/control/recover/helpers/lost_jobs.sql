-- Return which of these the worker no longer holds; each is a tenant, a job and a token.
CREATE OR REPLACE FUNCTION tenure.lost_jobs(worker uuid, holding jsonb) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    place tenure.tenant;
    part  json;
    gone  jsonb := '[]';
BEGIN
    FOR place IN SELECT t.* FROM tenure.tenant AS t
        WHERE holding @> jsonb_build_array(jsonb_build_object('tenant', t.name)) LOOP
        EXECUTE format('SELECT json_agg(h) FROM jsonb_array_elements($1) AS h '
            'WHERE h ->> ''tenant'' = $2 AND NOT EXISTS ('
            'SELECT FROM %I.job AS j WHERE j.id = (h ->> ''job'')::bigint AND j.state = ''running'' '
            'AND j.worker_id = $3 AND j.token = (h ->> ''token'')::bigint)', place.schema)
        INTO part USING holding, place.name, worker;
        gone := gone || coalesce(part::jsonb, '[]');
    END LOOP;
    RETURN gone;
END $$;
