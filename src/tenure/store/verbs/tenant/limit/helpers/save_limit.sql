-- Store the state of a locked limit, and when the next job of its line may go.
--
-- A called job that is stopped before it starts keeps its place until the line is looked at again: after
-- five seconds at the latest.
CREATE OR REPLACE FUNCTION tenant.save_limit(l tenure.open_limit) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    kept CONSTANT integer := cardinality(l.called);
    due  timestamptz;
BEGIN
    IF l.lined THEN
        due := CASE
            WHEN l.closed_until IS NOT NULL THEN l.closed_until
            WHEN l.running + kept >= l.at_once THEN 'infinity'
            ELSE coalesce(l.at + make_interval(secs =>
                tenant.limit_wait(l.rates, l.levels, tenant.job_needs(l.rates, kept + 1))), 'infinity') END;
        due := CASE WHEN kept > 0 THEN least(due, l.at + interval '5 seconds') ELSE due END;
    END IF;
    UPDATE tenant.limit_state AS s SET levels = l.levels, refilled_at = l.at, lined = l.lined,
        called = l.called, due_at = due
    WHERE s.name = l.name;
    IF NOT FOUND THEN
        INSERT INTO tenant.limit_state (name, levels, refilled_at, lined, due_at, called)
        VALUES (l.name, l.levels, l.at, l.lined, due, l.called);
    END IF;
END $$;
