-- Write the dependencies of a new job; refuse dependencies that could never be met.
CREATE OR REPLACE FUNCTION tenant.insert_edges(new_id bigint, after jsonb, place integer, places jsonb,
    ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    need   jsonb;
    needed bigint;
    policy text;
    above  CONSTANT bigint[] := tenant.ancestors(new_id);
BEGIN
    FOR need IN SELECT value FROM jsonb_array_elements(after) LOOP
        policy := coalesce(CASE WHEN jsonb_typeof(need) = 'object' THEN need ->> 'policy' END, 'wait');
        needed := tenant.find_by_name(
            CASE WHEN jsonb_typeof(need) = 'object' THEN need -> 'job' ELSE need END, place, places, ids);
        IF policy NOT IN ('wait', 'fail', 'run') THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001',
                MESSAGE = format('an edge has the policy %L; it can be wait, fail or run', policy);
        ELSIF NOT EXISTS (SELECT FROM tenant.job AS j WHERE j.id = needed) THEN
            RAISE EXCEPTION USING ERRCODE = 'TN002',
                MESSAGE = format('there is no job %s to come after', needed);
        ELSIF needed = ANY (above) THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001',
                MESSAGE = format('a job cannot come after job %s, which it is a part of', needed);
        END IF;
        INSERT INTO tenant.edge (job_id, needs_id, policy) VALUES (new_id, needed, policy)
        ON CONFLICT DO NOTHING;
    END LOOP;
END $$;
