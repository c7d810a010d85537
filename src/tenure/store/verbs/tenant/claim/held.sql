-- Return the jobs that the database believes a worker holds: for a worker that lost the answer of a claim.
CREATE OR REPLACE FUNCTION tenant.held(worker uuid) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(json_agg(json_build_object('job', j.id, 'token', j.token) ORDER BY j.id), '[]')
    FROM tenant.job AS j WHERE j.worker_id = worker AND j.state = 'running';
$$;
