-- Charge what these jobs had reserved when their attempts ended and nobody said what was spent: a call was
-- on its way that may have cost all of it.
CREATE OR REPLACE FUNCTION tenant.charge_reservations(jobs bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    WITH ended AS (
        DELETE FROM tenant.reservation AS v WHERE v.holder_id = ANY (jobs) RETURNING v.*
    )
    INSERT INTO tenant.spent AS s (job_id, unit, worker_id, amount, spent_at, reports, times, amounts)
    SELECT e.job_id, e.unit, e.worker_id, sum(e.amount), tenure.now(), 1, ARRAY[tenure.now()],
        ARRAY[sum(e.amount)]
    FROM ended AS e GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
    ON CONFLICT (job_id, unit, worker_id) DO UPDATE SET amount = s.amount + excluded.amount,
        spent_at = excluded.spent_at;
END $$;
