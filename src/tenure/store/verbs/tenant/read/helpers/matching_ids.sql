-- Return the ids of the newest n jobs below an id that match a filter.
CREATE OR REPLACE FUNCTION tenant.matching_ids(filter jsonb, below bigint, n integer) RETURNS bigint[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    wanted CONSTANT jsonb := tenant.with_times(filter);
    jobs   CONSTANT text := tenant.jobs_within(wanted, below);
    ids    bigint[];
BEGIN
    IF n IS NULL OR n NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('a page of %s jobs is not possible; 1 to 1000 are', coalesce(n::text, 'no'));
    END IF;
    PERFORM tenant.refuse_text_alone(wanted);
    EXECUTE format('SELECT ARRAY(SELECT j.id %s ORDER BY j.id DESC LIMIT $2)', jobs)
    INTO ids USING wanted, n;
    RETURN ids;
END $$;
