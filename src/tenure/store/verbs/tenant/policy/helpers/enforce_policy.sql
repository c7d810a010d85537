-- Stop up to n of the jobs that one policy matches. Return how many were stopped, how many could not be and
-- why, how long the search took, and whether nothing is left to do.
CREATE OR REPLACE FUNCTION tenant.enforce_policy(
    rule tenant.policy, now_ts timestamptz, n integer,
    OUT stopped integer, OUT failed integer, OUT error text, OUT took interval, OUT through boolean
)
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    ids     bigint[] := '{}';
    next_id bigint;
    busy    integer := 0;
BEGIN
    stopped := 0;
    failed := 0;
    BEGIN
        -- Twice as many: jobs that cannot be stopped do not hold up the others.
        ids := tenant.policy_jobs(rule.spec, now_ts, 2 * n);
    EXCEPTION WHEN OTHERS THEN
        failed := 1;
        error := sqlerrm;
    END;
    took := tenure.now() - now_ts;
    FOREACH next_id IN ARRAY ids LOOP
        EXIT WHEN stopped >= n OR failed >= n;
        BEGIN
            -- Check the current state, locked as in stop but without waiting: the holder may be waiting for
            -- this transaction.
            PERFORM FROM tenant.job AS r
            WHERE r.id = (SELECT j.root_id FROM tenant.job AS j WHERE j.id = next_id)
            FOR UPDATE NOWAIT;
            PERFORM FROM tenant.job AS j
            WHERE j.id = next_id AND j.ended_at IS NULL AND (j.stop_id IS NULL OR j.state = 'paused')
            FOR UPDATE NOWAIT;
            CONTINUE WHEN NOT FOUND;
            PERFORM tenant.stop_job(next_id, rule.spec ->> 'intent', tenant.policy_reason(rule.spec),
                'policy:' || rule.name, 'policy', jsonb_populate_record(NULL::tenure.stop_options,
                    jsonb_build_object('strategy', rule.spec ->> 'strategy')), rule.whose);
            stopped := stopped + 1;
        EXCEPTION
            WHEN serialization_failure OR deadlock_detected OR lock_not_available THEN
                busy := busy + 1;
            WHEN OTHERS THEN
                failed := failed + 1;
                error := format('job %s: %s', next_id, sqlerrm);
        END;
    END LOOP;
    through := failed = 0 AND busy = 0 AND stopped < n;
END $$;
