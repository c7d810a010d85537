-- Enqueue the job that rolls back the completed children of a cancelled job, all of them or those that are
-- named. It runs when that job has ended, in whatever state, for the same owner and in the same queue, and
-- is part of no tree, so that no stop of the tree reaches it. The same children of a record are rolled back
-- by one job, however often that is requested; two rollbacks run one after the other.
CREATE OR REPLACE FUNCTION tenant.enqueue_rollback(record tenant.cancellation, tasks bigint[], via text)
RETURNS bigint
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    name   CONSTANT text := tenant.cancellation_name(record.id, record.intent);
    wanted CONSTANT jsonb := jsonb_strip_nulls(jsonb_build_object('cancellation', name,
        'tasks', (SELECT jsonb_agg(DISTINCT t ORDER BY t) FROM unnest(tasks) AS t)));
    alien  CONSTANT bigint := (SELECT min(t) FROM unnest(tasks) AS t WHERE NOT EXISTS (
        SELECT FROM tenant.member AS m WHERE m.stop_id = record.id AND m.job_id = t));
    others bigint[];
    undoer bigint;
BEGIN
    SELECT c.rollback_jobs INTO others FROM tenant.cancellation AS c WHERE c.id = record.id FOR NO KEY UPDATE;
    IF alien IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('job %s is not part of %s, so it cannot be rolled back with it', alien, name);
    END IF;
    SELECT p.job_id INTO undoer FROM tenant.payload AS p WHERE p.job_id = ANY (others) AND p.args = wanted
    LIMIT 1;
    IF FOUND THEN
        RETURN undoer;
    END IF;
    SELECT (tenant.enqueue(jsonb_build_object(
            'task', 'tenure.rollback', 'args', wanted, 'queue', l.queue, 'priority', j.priority,
            'after', (SELECT jsonb_agg(jsonb_build_object('job', n.id, 'policy', 'run')) FROM tenant.job AS n
                WHERE n.id = ANY (j.id || others))),
        via => enqueue_rollback.via, declared => true) -> 0 ->> 'id')::bigint
    INTO undoer FROM tenant.job AS j JOIN tenant.lane AS l ON l.id = j.lane WHERE j.id = record.job_id;
    -- Not as a field of the draft: a caller that may stop a job may not enqueue in its owner's name.
    UPDATE tenant.payload AS p SET owner = o.owner
    FROM tenant.payload AS o WHERE p.job_id = undoer AND o.job_id = record.job_id;
    UPDATE tenant.cancellation AS c SET rollback_jobs = c.rollback_jobs || undoer WHERE c.id = record.id;
    RETURN undoer;
END $$;
