-- Write what a new job comes after; refused when it could then never run.
CREATE OR REPLACE FUNCTION tenant.depend(new_id bigint, after jsonb, places jsonb, ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    need      jsonb;
    needed    bigint;
    policy    text;
    ancestors bigint[];
BEGIN
    WITH RECURSIVE up AS (
        SELECT j.parent_id AS id FROM tenant.job AS j WHERE j.id = new_id
        UNION SELECT j.parent_id FROM up JOIN tenant.job AS j ON j.id = up.id
    )
    SELECT coalesce(array_agg(up.id) FILTER (WHERE up.id IS NOT NULL), '{}') INTO ancestors FROM up;

    FOR need IN SELECT value FROM jsonb_array_elements(after) LOOP
        policy := coalesce(CASE WHEN jsonb_typeof(need) = 'object' THEN need ->> 'policy' END, 'wait');
        needed := tenant.named(CASE WHEN jsonb_typeof(need) = 'object' THEN need -> 'job' ELSE need END, places, ids);
        IF policy NOT IN ('wait', 'fail', 'run') THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('an edge has the policy %L; it can be wait, fail or run', policy);
        ELSIF NOT EXISTS (SELECT FROM tenant.job AS j WHERE j.id = needed) THEN
            RAISE EXCEPTION USING ERRCODE = 'TN002', MESSAGE = format('there is no job %s to come after', needed);
        ELSIF needed = ANY (ancestors) THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('a job cannot come after job %s, which it is a part of', needed);
        ELSIF ancestors <> '{}' AND EXISTS (
            -- Everything that must end before what it needs can run: if its own tree is among it, nobody ever runs.
            WITH RECURSIVE first AS (
                SELECT needed AS id
                UNION
                SELECT n.id FROM first CROSS JOIN LATERAL (
                    SELECT e.needs_id AS id FROM tenant.edge AS e WHERE e.job_id = first.id
                    UNION ALL
                    SELECT c.id FROM tenant.job AS c JOIN tenant.job AS g ON g.id = c.parent_id
                    WHERE c.parent_id = first.id AND g.waiting = 'tasks') AS n
            )
            SELECT FROM first WHERE first.id = ANY (ancestors)
        ) THEN
            RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('coming after job %s would form a cycle through the parent', needed);
        END IF;
        INSERT INTO tenant.edge (job_id, needs_id, policy) VALUES (new_id, needed, policy) ON CONFLICT DO NOTHING;
    END LOOP;
END $$;
