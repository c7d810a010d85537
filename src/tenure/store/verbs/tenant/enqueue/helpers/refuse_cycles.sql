-- Refuse new jobs that wait for something that they are a part of: they would never run.
--
-- Jobs depend on earlier jobs only, so a cycle leads through a job without code of its own that waits for
-- its children and that another job depends on. There are few of those; search from each of them.
CREATE OR REPLACE FUNCTION tenant.refuse_cycles(born bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    mothers CONSTANT bigint[] := ARRAY(SELECT DISTINCT j.parent_id FROM tenant.job AS j
        WHERE j.id = ANY (born) AND j.parent_id IS NOT NULL);
    circled bigint;
BEGIN
    SELECT g.id INTO circled FROM tenant.job AS g
    WHERE g.waiting = 'tasks'
      AND g.id = ANY (mothers
          || ARRAY(SELECT a FROM unnest(mothers) AS m CROSS JOIN LATERAL unnest(tenant.ancestors(m)) AS a)
            || ARRAY(SELECT e.needs_id FROM tenant.edge AS e WHERE e.job_id = ANY (born)))
      AND EXISTS (SELECT FROM tenant.edge AS e WHERE e.needs_id = g.id)
      AND EXISTS (SELECT FROM tenant.edge AS e
          WHERE e.needs_id = g.id AND e.job_id = ANY (tenant.waits_for(ARRAY[g.id])))
    LIMIT 1;
    IF circled IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
            'a job that is a part of job %s would wait for it, and it for the job: that is a cycle', circled);
    END IF;
END $$;
