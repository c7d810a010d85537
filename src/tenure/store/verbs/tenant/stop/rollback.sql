-- Roll back the completed children of a cancelled job, all of them or those that "tasks" names; also after
-- the cancellation has ended.
--
-- The rollback is a job of the task tenure.rollback; the same children of a record are rolled back by one
-- job, however often that is requested.
CREATE OR REPLACE FUNCTION tenant.rollback(
    cancellation text, tasks bigint[] DEFAULT NULL, reason text DEFAULT NULL, by text DEFAULT NULL,
    via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stop    CONSTANT bigint := tenant.cancellation_id(rollback.cancellation);
    record  tenant.cancellation;
    refusal json;
    undo    bigint;
BEGIN
    SELECT c.* INTO record FROM tenant.cancellation AS c WHERE c.id = stop;
    IF NOT FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006',
            MESSAGE = format('there is no cancellation %s', rollback.cancellation);
    END IF;
    refusal := tenant.forbidden('rollback', 'operator', 'job', record.job_id::text, by, via, role);
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF record.intent = 'pause' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = 'a pause is not rolled back, because the job continues later; cancel it instead';
    ELSIF cardinality(tasks) = 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'no task is named; leave the names out to roll back all of them';
    END IF;
    undo := tenant.enqueue_rollback(record, tasks, via);
    IF undo IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('job %s is gone, and with it what could be undone', record.job_id);
    END IF;
    PERFORM tenant.write_audit(tenure.actor(by), via, 'rollback', 'job', record.job_id::text, reason, NULL,
        jsonb_strip_nulls(jsonb_build_object('cancellation_id', rollback.cancellation, 'job', undo,
            'tasks', to_jsonb(tasks))));
    RETURN json_build_object('job', undo);
END $$;
