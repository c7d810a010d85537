-- Store the state of a locked limit, and when the next job of its line may go. A clock that was set back does
-- not set back when the limit was refilled.
--
-- A called job that is stopped before it starts keeps its place until the line is looked at again: after
-- five seconds at the latest.
CREATE OR REPLACE FUNCTION tenant.save_limit(l tenure.open_limit) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    kept  CONSTANT integer := cardinality(l.called);
    since CONSTANT timestamptz := greatest(l.at,
        (SELECT s.refilled_at FROM tenant.limit_state AS s WHERE s.name = l.name));
    due   timestamptz;
BEGIN
    IF l.lined THEN
        due := CASE
            WHEN l.closed_until IS NOT NULL THEN l.closed_until
            WHEN l.running + kept >= l.at_once THEN 'infinity'
            ELSE since + make_interval(secs => least(extract(epoch FROM {grace.max}),
                tenant.limit_wait(l.rates, l.levels, tenant.job_needs(l.rates, kept + 1)))) END;
        due := CASE WHEN kept > 0 THEN least(due, l.at + interval '5 seconds') ELSE due END;
    END IF;
    UPDATE tenant.limit_state AS s SET levels = l.levels, refilled_at = since, lined = l.lined,
        called = l.called, due_at = due
    WHERE s.name = l.name;
    IF NOT FOUND THEN
        INSERT INTO tenant.limit_state (name, levels, refilled_at, lined, due_at, called)
        VALUES (l.name, l.levels, since, l.lined, due, l.called);
    END IF;
END $$;
