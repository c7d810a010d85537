-- Add what jobs have spent to their own account and to those of all their ancestors. Return the budgets
-- that are exceeded now.
CREATE OR REPLACE FUNCTION tenant.spend(worker uuid, reports jsonb) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF reports @? '$[*].spent.* ? (@.type() != "number" || @ < {amount.min} || @ > {amount.max})' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            'what is spent is a number of zero or more for each unit, up to 1e18';
    END IF;
    INSERT INTO tenant.spent AS s (job_id, unit, worker_id, amount)
    SELECT u.id, b.key, spend.worker, sum((b.value #>> '{}')::numeric)
    FROM jsonb_to_recordset(reports) AS r(job bigint, spent jsonb)
    CROSS JOIN LATERAL jsonb_each(r.spent) AS b
    CROSS JOIN LATERAL unnest(r.job || tenant.ancestors(r.job)) AS u(id)
    GROUP BY u.id, b.key
    -- In a fixed order, so that two reports of one worker cannot deadlock.
    ORDER BY u.id, b.key
    ON CONFLICT (job_id, unit, worker_id) DO UPDATE SET amount = s.amount + excluded.amount;
    RETURN (SELECT json_agg(json_build_object('job_id', x.job, 'message', x.message))
        FROM (SELECT DISTINCT r.job, tenant.overrun(r.job) AS message
              FROM jsonb_to_recordset(reports) AS r(job bigint, spent jsonb) WHERE r.spent IS NOT NULL) AS x
        WHERE x.message IS NOT NULL);
END $$;
