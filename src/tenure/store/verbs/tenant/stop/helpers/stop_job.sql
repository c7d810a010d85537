-- Stop a job for an actor that may: the common part of stop, replace, policies and bulk stops. With "whose"
-- the cascade reaches only dependents that belong to this owner.
CREATE OR REPLACE FUNCTION tenant.stop_job(
    job bigint, intent text, reason text, actor text, via text, options tenure.stop_options, whose text
) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
DECLARE
    asked   CONSTANT text := intent;
    preset  CONSTANT jsonb := tenant.strategy_options(options.strategy);
    forced  CONSTANT boolean := coalesce(options.force,
        CASE WHEN options.last_rung < 'killed' THEN false END, (preset -> 'force')::boolean, false);
    now_ts  timestamptz;
    chosen  tenant.job;
    current tenant.cancellation;
    written tenant.cancellation;
    reached bigint[];
    added   bigint[];
    locked  bigint[];
BEGIN
    -- In one expression: PostgreSQL prepares each again in every transaction.
    options := ROW(options.strategy, forced,
        coalesce(options."cascade", (preset -> 'cascade')::boolean, true),
        coalesce(options.grace, make_interval(secs => (preset ->> 'grace')::double precision)),
        coalesce(options.ask_for, make_interval(secs => (preset ->> 'ask_for')::double precision)),
        coalesce(options.last_rung, CASE WHEN forced THEN 'killed' END::tenure.rung,
            (preset ->> 'last_rung')::tenure.rung, 'killed'),
        coalesce(options.preserve, (preset -> 'preserve')::boolean),
        coalesce(options.rollback, options.rollback_tasks IS NOT NULL
            OR ((preset -> 'rollback')::boolean AND intent = 'cancel'), false),
        options.rollback_tasks);
    IF intent IS NULL OR intent NOT IN ('cancel', 'pause') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('a stop cancels or pauses; %L is neither', intent);
    ELSIF reason = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'the reason of a stop is empty; leave it out instead';
    ELSIF length(reason) > {reason.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            'the reason of a stop has at most {reason.max} characters';
    ELSIF options.grace > {grace.max} OR options.ask_for > {ask_for.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            'grace and ask_for of a stop are at most 36500 days';
    ELSIF cardinality(options.rollback_tasks) > {rollback_tasks.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            'a rollback names at most {rollback_tasks.max} tasks';
    ELSIF options.grace < interval '0' OR options.ask_for < interval '0' OR options.last_rung = 'expired'
        OR (options.force AND options.last_rung < 'killed') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'a stop has a grace of zero or more and ends at asked, interrupted, terminated '
                'or killed; a forced one kills';
    ELSIF options.rollback_tasks IS NOT NULL
        AND (NOT options.rollback OR cardinality(options.rollback_tasks) = 0) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'tasks are named to be rolled back, or nothing is rolled back; '
                'leave the names out to roll back all of them';
    END IF;
    SELECT r.* INTO chosen FROM tenant.job AS r
    WHERE r.id = (SELECT j.root_id FROM tenant.job AS j WHERE j.id = stop_job.job) FOR UPDATE;
    IF chosen.id IS DISTINCT FROM stop_job.job THEN
        SELECT j.* INTO chosen FROM tenant.job AS j WHERE j.id = stop_job.job FOR UPDATE;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'TN002', MESSAGE = format('there is no job %s', stop_job.job);
        END IF;
    END IF;
    locked := ARRAY[chosen.root_id];
    IF chosen.stop_id IS NOT NULL THEN
        SELECT c.* INTO current FROM tenant.cancellation AS c WHERE c.id = chosen.stop_id;
    END IF;
    IF intent = 'cancel' AND NOT options.force AND actor NOT LIKE 'policy:%'
        AND chosen.state IN ('pending', 'running')
            AND current.intent IS DISTINCT FROM 'cancel'
            AND EXISTS (SELECT FROM tenant.payload AS p
                WHERE p.job_id = stop_job.job AND p.options @> '{"cancel_pauses": true}') THEN
        intent := 'pause';
    END IF;
    reason := coalesce(reason, CASE intent
        WHEN 'pause' THEN 'Job was interrupted by user' ELSE 'User requested cancellation' END);

    IF chosen.state = 'cancelled' AND intent = 'cancel' AND current.intent = 'cancel' THEN
        -- Asked again, perhaps because the first answer was lost, or because the end could not be written.
        IF current.status = 'failed' AND NOT EXISTS (
                SELECT FROM tenant.member AS m WHERE m.stop_id = current.id AND m.ended_at IS NULL) THEN
            UPDATE tenant.step AS s SET status = 'completed', error = NULL
            WHERE s.stop_id = current.id AND s.name = 'update_tasks';
            PERFORM tenant.end_record(current.id, 'completed', NULL);
        END IF;
        RETURN tenant.cancellation_report(current.id, again => true);
    ELSIF chosen.state IN ('completed', 'failed', 'cancelled')
        OR (chosen.state = 'paused' AND intent = 'pause') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('cannot %s a job that is %s', intent, chosen.state);
    ELSIF options.rollback AND intent = 'pause' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = CASE asked WHEN 'pause'
            THEN 'a pause is not rolled back, because the job continues later; cancel it instead'
            ELSE format(
                'a plain cancel of job %s pauses it, and a pause is not rolled back; cancel it with force',
                stop_job.job) END;
    ELSIF chosen.state <> 'paused' AND current.intent = 'cancel' AND intent = 'pause' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003', MESSAGE = 'cannot pause a job that is cancelling';
    ELSIF chosen.state <> 'paused' AND current.intent = intent AND current.completed_at IS NULL
        AND current.job_id = stop_job.job THEN
        RETURN tenant.repeat_stop(current, options, reason, actor, via);
    END IF;

    now_ts := tenure.now();
    INSERT INTO tenant.cancellation (job_id, root_id, intent, reason, initiated_by, initiated_at, force,
        "cascade", grace, ask_for, last_rung, rollback, rollback_tasks, preserve, strategy)
    VALUES (stop_job.job, chosen.root_id, intent, reason, actor, now_ts, options.force, options."cascade",
        options.grace, options.ask_for, options.last_rung, options.rollback, options.rollback_tasks,
        options.preserve, options.strategy)
    RETURNING * INTO written;
    PERFORM tenant.notify_watchers(ARRAY[written.id]);

    -- Every pass is a new statement, which finds a child that was committed meanwhile. A child whose insert
    -- is still in flight is stopped by promote.
    reached := '{}';
    LOOP
        added := ARRAY(SELECT unnest(
            tenant.jobs_to_stop(stop_job.job, options."cascade" AND intent = 'cancel', whose))
                       EXCEPT SELECT unnest(reached) ORDER BY 1);
        EXIT WHEN added = '{}';
        IF added <> ARRAY[stop_job.job] THEN
            locked := tenant.lock_tree(added, locked);
        END IF;
        PERFORM tenant.stop_members(written.id, added);
        reached := reached || added;
    END LOOP;
    IF cardinality(reached) > 1 THEN
        PERFORM tenant.end_stopped_parents(reached, now_ts);
    END IF;
    IF options.rollback THEN
        PERFORM tenant.enqueue_rollback(written, options.rollback_tasks, via);
    END IF;

    PERFORM tenant.write_audit(actor, via, intent, 'job', stop_job.job::text, reason,
        jsonb_build_object('state', chosen.state),
        jsonb_build_object('cancellation_id', tenant.cancellation_name(written.id, written.intent),
            'force', options.force, 'cascade', options."cascade")
        || CASE WHEN asked <> intent THEN jsonb_build_object('asked', asked) ELSE '{}' END
        || CASE WHEN options.rollback THEN '{"rollback": true}'::jsonb ELSE '{}' END
        || jsonb_strip_nulls(jsonb_build_object('strategy', options.strategy, 'preserve', options.preserve,
            'rollback_tasks', to_jsonb(options.rollback_tasks))));
    IF NOT tenant.open_steps(written.id) THEN
        PERFORM tenant.close_if_complete(written.id);
    END IF;
    RETURN tenant.cancellation_report(written.id);
END $$;
