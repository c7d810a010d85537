-- Stop all jobs that match a filter now, as one operation with its own progress.
--
-- This only writes it down; advance_bulk carries it out, batch by batch, and every worker calls it as well
-- as whoever waits. Jobs that are enqueued later are not touched. Each stop is on record like any other,
-- with the options of stop. An operator's bulk stop reaches jobs of its own and counts the others as refused.
CREATE OR REPLACE FUNCTION tenant.bulk_stop(
    filter jsonb, intent text DEFAULT 'cancel', reason text DEFAULT NULL, strategy text DEFAULT NULL,
    force boolean DEFAULT NULL, "cascade" boolean DEFAULT NULL, grace interval DEFAULT NULL, ask_for interval DEFAULT NULL,
    last_rung tenure.rung DEFAULT NULL, rollback boolean DEFAULT NULL, preserve boolean DEFAULT NULL,
    by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    refusal CONSTANT json := tenant.forbidden('bulk_stop', 'operator', 'bulk', '', by, via, role);
    options CONSTANT jsonb := jsonb_strip_nulls(jsonb_build_object('strategy', strategy, 'force', force, 'cascade', "cascade",
        'grace', grace, 'ask_for', ask_for, 'last_rung', last_rung, 'rollback', rollback, 'preserve', preserve));
    total   bigint;
    written tenant.bulk;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    PERFORM tenant.bulk_complaint(intent, reason, grace, ask_for, last_rung, force, rollback);
    PERFORM tenant.strategy_options(strategy);
    EXECUTE format('SELECT count(*) %s AND %s', tenant.filtered_jobs(filter), tenant.filter_stoppable(intent, tenant.bulk_forces(options)))
    INTO total USING filter;
    INSERT INTO tenant.bulk (filter, intent, options, reason, initiated_by, via, whose, created_at, upto, total)
    VALUES (bulk_stop.filter, bulk_stop.intent, options, bulk_stop.reason, actor, bulk_stop.via,
        CASE WHEN tenant.role_of(role) <> 'admin' THEN actor END, tenure.now(),
        coalesce((SELECT max(j.id) FROM tenant.job AS j), 0), total)
    RETURNING * INTO written;
    PERFORM tenant.note(actor, via, 'bulk_stop', 'bulk', written.id::text, reason, NULL,
        jsonb_build_object('filter', filter, 'intent', intent, 'options', options, 'total', total));
    PERFORM nextval('tenant.turn');  -- workers carry it on
    RETURN to_json(written);
END $$;
