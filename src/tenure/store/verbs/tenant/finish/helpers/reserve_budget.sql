-- Reserve amounts of the budgets of a running job and of all its ancestors: {"granted"}, or {"wait"} while
-- what others have reserved may be returned, or {"exhausted"} with the reason why they never suffice.
--
-- The rows that hold these budgets are locked, without waiting, so that two jobs of a tree cannot reserve the
-- same rest. What is spent and what is reserved are read in one statement: a reservation that becomes
-- spending counts once.
CREATE OR REPLACE FUNCTION tenant.reserve_budget(job bigint, ask jsonb, worker uuid) RETURNS jsonb
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    request CONSTANT bigint := (ask ->> 'number')::bigint;
    tree   CONSTANT bigint[] := reserve_budget.job || tenant.ancestors(reserve_budget.job);
    locked bigint[];
    short  record;
BEGIN
    IF EXISTS (SELECT FROM tenant.reservation AS v
            WHERE v.holder_id = reserve_budget.job AND v.number = request) THEN
        RETURN '{"granted": true}';
    END IF;
    locked := ARRAY(SELECT p.job_id FROM tenant.payload AS p WHERE p.job_id = ANY (tree)
        ORDER BY p.job_id FOR NO KEY UPDATE SKIP LOCKED);
    IF cardinality(locked) < (SELECT count(*) FROM tenant.payload AS p WHERE p.job_id = ANY (tree)) THEN
        RETURN '{"wait": 0.01}';
    END IF;
    SELECT b.job_id, a.key AS unit, a.value AS amount, b.at, s.spent, v.reserved,
        b.at - s.spent < (a.value #>> '{}')::numeric AS never INTO short
    FROM jsonb_each(ask -> 'reserve') AS a
    CROSS JOIN LATERAL (
        SELECT p.job_id, (p.budget ->> a.key)::numeric AS at FROM tenant.payload AS p
        WHERE p.job_id = ANY (tree) AND jsonb_typeof(p.budget -> a.key) = 'number') AS b
    CROSS JOIN LATERAL (SELECT coalesce(sum(o.amount), 0) AS spent FROM tenant.spent AS o
        WHERE o.job_id = b.job_id AND o.unit = a.key) AS s
    CROSS JOIN LATERAL (SELECT coalesce(sum(o.amount), 0) AS reserved FROM tenant.reservation AS o
        WHERE o.job_id = b.job_id AND o.unit = a.key) AS v
    WHERE b.at - s.spent - v.reserved < (a.value #>> '{}')::numeric
    ORDER BY never DESC LIMIT 1;
    IF short.never THEN
        RETURN jsonb_build_object('exhausted', format(
            'budget of %s %s cannot hold %s more: %s spent', short.at, short.unit, short.amount,
            short.spent));
    ELSIF short.job_id IS NOT NULL THEN
        RETURN '{"wait": 0.1}';
    END IF;
    INSERT INTO tenant.reservation (job_id, unit, holder_id, number, worker_id, amount)
    SELECT p.job_id, a.key, reserve_budget.job, request, worker, (a.value #>> '{}')::numeric
    FROM jsonb_each(ask -> 'reserve') AS a JOIN tenant.payload AS p
        ON p.job_id = ANY (tree) AND jsonb_typeof(p.budget -> a.key) = 'number';
    RETURN '{"granted": true}';
END $$;
