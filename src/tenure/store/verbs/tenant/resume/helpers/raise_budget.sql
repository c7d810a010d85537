-- Replace limits of a job's budget; the others stay as they are.
CREATE OR REPLACE FUNCTION tenant.raise_budget(job bigint, budget jsonb) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF tenure.is_bad_budget(raise_budget.budget) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'a budget is {"unit": limit, ...} with limits of zero or more';
    END IF;
    UPDATE tenant.payload AS p SET budget = coalesce(p.budget, '{}') || raise_budget.budget
    WHERE p.job_id = raise_budget.job;
END $$;
