-- Record an operation on all jobs that match a filter now. advance_bulk carries it out batch by batch,
-- called by workers and by clients that wait. Jobs that are enqueued later are not touched. A caller that
-- is no admin changes its own jobs; the others are counted as refused.
CREATE OR REPLACE FUNCTION tenant.begin_bulk(
    verb text, filter jsonb, intent text, options jsonb, reason text, by text, via text, role text
) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    refusal CONSTANT json := tenant.forbidden(verb, 'operator', 'bulk', '', by, via, role);
    total   bigint;
    written tenant.bulk;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    PERFORM tenant.check_bulk(intent, reason, jsonb_populate_record(NULL::tenure.stop_options, options));
    PERFORM tenant.strategy_options(options ->> 'strategy');
    IF tenant.role_of(role) <> 'admin' AND (SELECT count(*) FROM tenant.bulk AS b
            WHERE b.ended_at IS NULL AND b.whose = actor) >= {bulks_per_operator.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('%s has {bulks_per_operator.max} bulk operations '
            'under way, and an operator has no more; wait for one of them', actor);
    END IF;
    EXECUTE format('SELECT count(*) %s AND %s', tenant.filtered_jobs(filter),
        tenant.filter_reached(intent, tenant.bulk_forces(options)))
    INTO total USING filter;
    INSERT INTO tenant.bulk (filter, intent, options, reason, initiated_by, via, whose, created_at, upto,
        total)
    VALUES (begin_bulk.filter, begin_bulk.intent, begin_bulk.options, begin_bulk.reason, actor,
        begin_bulk.via,
        CASE WHEN tenant.role_of(role) <> 'admin' THEN actor END, tenure.now(),
        coalesce((SELECT max(j.id) FROM tenant.job AS j), 0), total)
    RETURNING * INTO written;
    PERFORM tenant.write_audit(actor, via, verb, 'bulk', written.id::text, reason, NULL,
        jsonb_build_object('filter', filter, 'intent', intent, 'options', options, 'total', total));
    PERFORM nextval('tenant.activity');  -- workers continue it
    RETURN to_json(written);
END $$;
