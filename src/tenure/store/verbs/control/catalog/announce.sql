-- Announce the tasks of a worker's app, for all tenants or for those that it serves. For workers.
--
-- A worker that the caller may not act for is not found. A caller that only enqueues cannot change what a
-- task declares.
CREATE OR REPLACE FUNCTION tenure.announce(worker uuid, tasks jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    caller tenure.worker;
BEGIN
    SELECT w.* INTO caller FROM tenure.worker AS w
    WHERE w.id = worker AND w.dead_at IS NULL AND tenure.may_act_for_worker(w.registered_by);
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN002', MESSAGE = format('there is no worker %s', worker);
    END IF;
    PERFORM tenure.write_tasks(coalesce(caller.tenants, ARRAY['']), tasks);
    INSERT INTO tenure.serving AS s (worker_id, tasks)
    SELECT worker, coalesce(jsonb_object_agg(t.value ->> 'name', t.value ->> 'digest'), '{}')
    FROM jsonb_array_elements(tasks) AS t
    ON CONFLICT (worker_id) DO UPDATE SET tasks = excluded.tasks;
    RETURN json_build_object('tasks', jsonb_array_length(tasks));
END $$;
