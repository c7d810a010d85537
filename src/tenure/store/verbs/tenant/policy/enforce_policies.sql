-- Stop the jobs that policies match. Any number of callers may run it at once: each policy is checked by
-- one of them, and not again before "every" has passed; later if the check takes long, so that checks take
-- at most a twentieth of the time.
--
-- Each stop has a record, initiated by "policy:<name>". Nothing waits: a locked job is left to the next
-- check, and a job that cannot be stopped is recorded as the policy's last error and delays nothing else.
-- After n stops it returns "more" and continues when it is called again. A policy with "at" acts once and
-- is then deleted.
CREATE OR REPLACE FUNCTION tenant.enforce_policies(every interval DEFAULT '0', n integer DEFAULT 100)
RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    due    tenant.policy[];
    rule   tenant.policy;
    looked record;
    done   integer := 0;
    broken integer := 0;
BEGIN
    due := ARRAY(SELECT p FROM tenant.policy AS p
        WHERE p.enabled AND (p.checked_at IS NULL OR p.checked_at <= now_ts - CASE WHEN every > interval '0'
                THEN greatest(every, p.took * 20) ELSE every END)
          -- A policy that cannot be read is also due: its check fails alone, and records the error.
          AND CASE WHEN tenure.is_timestamp(p.spec #>> '{when,at}')
              THEN (p.spec #>> '{when,at}')::timestamptz <= now_ts ELSE true END
        ORDER BY p.checked_at NULLS FIRST, p.name FOR UPDATE SKIP LOCKED);
    FOREACH rule IN ARRAY due LOOP
        EXIT WHEN done >= n;
        SELECT l.* INTO looked FROM tenant.enforce_policy(rule, tenure.now(), n - done) AS l;
        done := done + looked.stopped;
        broken := broken + looked.failed;
        IF rule.spec #> '{when,at}' IS NOT NULL AND looked.through THEN
            DELETE FROM tenant.policy AS p WHERE p.name = rule.name;
            PERFORM tenant.write_audit('policy:' || rule.name, 'policy', 'drop', 'policy', rule.name,
                'it acts once and has acted',
                jsonb_build_object('spec', rule.spec, 'stopped', rule.stopped + looked.stopped), NULL);
        ELSE
            -- If there is more to do it stays due.
            UPDATE tenant.policy AS p
            SET stopped = p.stopped + looked.stopped, last_error = looked.error, took = looked.took,
                checked_at = CASE WHEN done >= n THEN p.checked_at ELSE now_ts END
            WHERE p.name = rule.name;
        END IF;
    END LOOP;
    RETURN json_build_object('policies', cardinality(due),
        'enabled', (SELECT count(*) FROM tenant.policy AS p WHERE p.enabled),
        'stopped', done, 'failed', broken, 'more', done >= n);
END $$;
