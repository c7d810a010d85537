-- Apply declarations to jobs whose task has been announced since they arrived, and check them like new
-- jobs. Locked jobs are left for the next time.
CREATE OR REPLACE FUNCTION tenant.promote_announced(n integer) RETURNS integer
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    name  text := '';
    known tenure.task;
    id    bigint;
    moved integer := 0;
BEGIN
    LOOP
        -- From task to task by the index: there may be very many jobs of a task that is never announced.
        SELECT u.task INTO name FROM tenant.unannounced AS u WHERE u.task > name ORDER BY u.task LIMIT 1;
        EXIT WHEN NOT FOUND;
        known := tenant.known_task(name);
        CONTINUE WHEN known.name IS NULL;
        FOR id IN SELECT u.job_id FROM tenant.unannounced AS u WHERE u.task = name
                ORDER BY u.job_id LIMIT n - moved FOR UPDATE SKIP LOCKED LOOP
            PERFORM tenant.declare_job(id, known);
            moved := moved + 1;
        END LOOP;
        EXIT WHEN moved >= n;
    END LOOP;
    RETURN moved;
END $$;
