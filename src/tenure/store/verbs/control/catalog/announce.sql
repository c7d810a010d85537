-- A worker announces the tasks of its app: for all tenants, or for those that it serves. For workers.
--
-- Somebody else's worker is not there. What a task declares is changed by nobody who only enqueues.
CREATE OR REPLACE FUNCTION tenure.announce(worker uuid, tasks jsonb) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    ours tenure.worker;
BEGIN
    SELECT w.* INTO ours FROM tenure.worker AS w
    WHERE w.id = worker AND w.dead_at IS NULL AND tenure.speaks_for(w.registered_by);
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN002', MESSAGE = format('there is no worker %s', worker);
    END IF;
    PERFORM tenure.write_tasks(coalesce(ours.tenants, ARRAY['']), tasks);
    INSERT INTO tenure.serving AS s (worker_id, tasks)
    SELECT worker, coalesce(jsonb_object_agg(t.value ->> 'name', t.value ->> 'digest'), '{}')
    FROM jsonb_array_elements(tasks) AS t
    ON CONFLICT (worker_id) DO UPDATE SET tasks = excluded.tasks;
    RETURN json_build_object('tasks', jsonb_array_length(tasks));
END $$;
