-- Add what jobs have spent to their own account and to those of all their ancestors. Return the budgets
-- that are exceeded now. Some of the totals are kept with their times, so that people see when it was spent.
CREATE OR REPLACE FUNCTION tenant.spend(worker uuid, reports jsonb) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
BEGIN
    IF reports @? '$[*].spent.* ? (@.type() != "number" || @ < {amount.min} || @ > {amount.max})' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            'what is spent is a number of zero or more for each unit, up to 1e18';
    END IF;
    INSERT INTO tenant.spent AS s (job_id, unit, worker_id, amount, spent_at, reports, times, amounts)
    SELECT u.id, b.key, spend.worker, sum(a.amount), now_ts, 1, ARRAY[now_ts], ARRAY[sum(a.amount)]
    FROM jsonb_to_recordset(reports) AS r(job bigint, spent jsonb)
    CROSS JOIN LATERAL jsonb_each(r.spent) AS b
    CROSS JOIN LATERAL (SELECT (b.value #>> '{}')::numeric AS amount) AS a
    CROSS JOIN LATERAL unnest(r.job || tenant.ancestors(r.job)) AS u(id)
    GROUP BY u.id, b.key
    -- In a fixed order, so that two reports of one worker cannot deadlock.
    ORDER BY u.id, b.key
    ON CONFLICT (job_id, unit, worker_id) DO UPDATE SET amount = s.amount + excluded.amount,
        spent_at = excluded.spent_at, reports = s.reports + 1,
        times = tenure.sampled(s.times, s.reports, excluded.spent_at),
        amounts = tenure.sampled(s.amounts, s.reports, s.amount + excluded.amount);
    RETURN (SELECT json_agg(json_build_object('job_id', x.job, 'message', x.message))
        FROM (SELECT DISTINCT r.job, tenant.overrun(r.job) AS message
              FROM jsonb_to_recordset(reports) AS r(job bigint, spent jsonb) WHERE r.spent IS NOT NULL) AS x
        WHERE x.message IS NOT NULL);
END $$;
