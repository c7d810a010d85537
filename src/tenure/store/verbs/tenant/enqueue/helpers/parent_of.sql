-- Return the parent that a draft names, by id or by a key of the same call; refuse one that is stopped or
-- ended.
CREATE OR REPLACE FUNCTION tenant.parent_of(parent jsonb, place integer, places jsonb, ids bigint[])
RETURNS tenant.job
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    parent_job tenant.job;
BEGIN
    IF parent IS NULL OR parent = 'null' THEN
        RETURN NULL;
    END IF;
    SELECT j.* INTO parent_job FROM tenant.job AS j
    WHERE j.id = tenant.find_by_name(parent, place, places, ids);
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN002',
            MESSAGE = format('there is no job %s to be a parent', parent);
    END IF;
    IF parent_job.stop_id IS NOT NULL OR parent_job.state NOT IN ('pending', 'running') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('cannot add a job below job %s, which is %s', parent_job.id,
            CASE WHEN parent_job.state IN ('pending', 'running') THEN 'being stopped'
                ELSE parent_job.state::text END);
    END IF;
    RETURN parent_job;
END $$;
