-- The parent a draft names, by id or by a key of its call; refused when it is stopped or over.
CREATE OR REPLACE FUNCTION tenant.parent_of(parent jsonb, place integer, places jsonb, ids bigint[])
RETURNS tenant.job
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    mother tenant.job;
BEGIN
    IF parent IS NULL OR parent = 'null' THEN
        RETURN NULL;
    END IF;
    SELECT j.* INTO mother FROM tenant.job AS j
    WHERE j.id = tenant.named(parent, place, places, ids);
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN002',
            MESSAGE = format('there is no job %s to be a parent', parent);
    END IF;
    IF mother.stop_id IS NOT NULL OR mother.state NOT IN ('pending', 'running') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('cannot add a job below job %s, which is %s', mother.id,
            CASE WHEN mother.state IN ('pending', 'running') THEN 'being stopped'
                ELSE mother.state::text END);
    END IF;
    RETURN mother;
END $$;
