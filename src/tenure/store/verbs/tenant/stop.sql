-- Stop a job and all below it: cancel it, or pause it so that it can go on later.
--
-- One transaction writes the cancellation record, ends what has not started, marks what runs and
-- tells its workers, and closes the door to new children. Children always go with their parent;
-- "cascade" decides about jobs that come after a cancelled one. Asking again answers with the same
-- record; asking with "force" while a graceful stop is under way escalates it.
--
-- A job with the option "cancel_pauses" is paused by a plain cancel, one without force that does not
-- come from a policy ("policy:..."); what is paused already is cancelled. With "rollback" a job of the
-- task tenure.rollback is enqueued, which runs when the cancelled one has ended.
CREATE OR REPLACE FUNCTION tenant.stop(
    job bigint, intent text DEFAULT 'cancel', reason text DEFAULT NULL,
    force boolean DEFAULT false, "cascade" boolean DEFAULT true, grace interval DEFAULT NULL,
    last_rung tenure.rung DEFAULT 'killed', by text DEFAULT NULL, via text DEFAULT 'sql',
    ask_for interval DEFAULT NULL, rollback boolean DEFAULT false
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    asked   CONSTANT text := intent;
    moment  timestamptz;
    chosen  tenant.job;
    current tenant.cancellation;
    written tenant.cancellation;
    reached bigint[];
    added   bigint[];
    locked  bigint[] := '{}';
BEGIN
    IF intent IS NULL OR intent NOT IN ('cancel', 'pause') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('a stop cancels or pauses; %L is neither', intent);
    ELSIF reason = '' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'the reason of a stop is empty; leave it out instead';
    ELSIF grace < interval '0' OR ask_for < interval '0' OR last_rung = 'expired' OR (force AND last_rung < 'killed') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a stop has a grace of zero or more and ends at asked, interrupted, terminated or killed; a forced one kills';
    END IF;
    PERFORM FROM tenant.job AS r WHERE r.id = (SELECT j.root_id FROM tenant.job AS j WHERE j.id = stop.job) FOR UPDATE;
    SELECT j.* INTO chosen FROM tenant.job AS j WHERE j.id = stop.job FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN002', MESSAGE = format('there is no job %s', stop.job);
    END IF;
    locked := ARRAY[chosen.root_id];
    SELECT c.* INTO current FROM tenant.cancellation AS c WHERE c.id = chosen.stop_id;
    IF intent = 'cancel' AND NOT force AND actor NOT LIKE 'policy:%' AND chosen.state IN ('pending', 'running')
            AND current.intent IS DISTINCT FROM 'cancel'
            AND EXISTS (SELECT FROM tenant.payload AS p WHERE p.job_id = stop.job AND p.options @> '{"cancel_pauses": true}') THEN
        intent := 'pause';
    END IF;
    reason := coalesce(reason, CASE intent WHEN 'pause' THEN 'Job was interrupted by user' ELSE 'User requested cancellation' END);

    IF chosen.state IN ('completed', 'failed', 'cancelled') OR (chosen.state = 'paused' AND intent = 'pause') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003', MESSAGE = format('cannot %s a job that is %s', intent, chosen.state);
    ELSIF rollback AND intent = 'pause' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = CASE asked WHEN 'pause'
            THEN 'a pause is not rolled back, because the job goes on later; cancel it instead'
            ELSE format('a plain cancel of job %s pauses it, and a pause is not rolled back; cancel it with force', stop.job) END;
    ELSIF chosen.state <> 'paused' AND current.intent = 'cancel' AND intent = 'pause' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003', MESSAGE = 'cannot pause a job that is cancelling';
    ELSIF chosen.state <> 'paused' AND current.intent = intent AND current.completed_at IS NULL AND current.job_id = stop.job THEN
        RETURN tenant.ask_again(current, force, grace, rollback, reason, actor, via);
    END IF;

    moment := tenure.now();
    INSERT INTO tenant.cancellation (job_id, root_id, intent, reason, initiated_by, initiated_at, force, "cascade", grace,
        ask_for, last_rung, rollback)
    VALUES (stop.job, chosen.root_id, intent, reason, actor, moment, force, "cascade", grace, ask_for, last_rung, rollback)
    RETURNING * INTO written;
    INSERT INTO tenant.step (stop_id, place, name)
    SELECT written.id, s.place, s.name FROM unnest(ARRAY['stop_assignment', 'terminate_runners', 'cancel_pending',
        'update_tasks', 'release_slots', 'preserve_artifacts']) WITH ORDINALITY AS s(name, place);

    -- Every look is a new statement: a child committed in the meantime is found by the next one. One
    -- that is still in flight is stopped when promote meets it.
    reached := '{}';
    LOOP
        added := ARRAY(SELECT unnest(tenant.reach(stop.job, "cascade" AND intent = 'cancel'))
                       EXCEPT SELECT unnest(reached) ORDER BY 1);
        EXIT WHEN added = '{}';
        locked := tenant.lock_tree(added, locked);
        PERFORM tenant.stop_members(written.id, added);
        reached := reached || added;
    END LOOP;
    PERFORM tenant.end_stopped_parents(reached, moment);
    IF rollback THEN
        PERFORM tenant.enqueue_rollback(written, via);
    END IF;

    PERFORM tenant.note(actor, via, intent, 'job', stop.job::text, reason,
        jsonb_build_object('state', chosen.state),
        jsonb_build_object('cancellation_id', tenant.cancellation_name(written.id), 'force', force, 'cascade', "cascade")
        || CASE WHEN asked <> intent THEN jsonb_build_object('asked', asked) ELSE '{}' END
        || CASE WHEN rollback THEN '{"rollback": true}'::jsonb ELSE '{}' END);
    PERFORM tenant.open_steps(written.id);
    PERFORM tenant.close_if_complete(written.id);
    RETURN tenant.cancellation_report(written.id);
END $$;
