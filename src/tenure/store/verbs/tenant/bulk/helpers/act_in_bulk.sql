-- Apply a bulk operation to one job. Return done, refused (it belongs to another owner), over (it no longer
-- matches), busy (its row is locked), or else why it could not be done.
CREATE OR REPLACE FUNCTION tenant.act_in_bulk(operation tenant.bulk, job bigint) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    still boolean;
BEGIN
    IF operation.whose <> (SELECT p.owner FROM tenant.payload AS p WHERE p.job_id = act_in_bulk.job) THEN
        RETURN 'refused';
    END IF;
    PERFORM FROM tenant.job AS r
    WHERE r.id = (SELECT j.root_id FROM tenant.job AS j WHERE j.id = act_in_bulk.job) FOR UPDATE;
    PERFORM FROM tenant.job AS j WHERE j.id = act_in_bulk.job FOR UPDATE;
    -- Check its current state: a job that was just stopped with its parent is not stopped again.
    EXECUTE format('SELECT EXISTS (SELECT %s AND j.id = $2 AND %s)', tenant.filtered_jobs(operation.filter),
        tenant.filter_reached(operation.intent, tenant.bulk_forces(operation.options)))
    INTO still USING operation.filter, act_in_bulk.job;
    IF NOT still THEN
        RETURN 'over';
    END IF;
    CASE operation.intent
        WHEN 'resume' THEN
            PERFORM tenant.resume_job(act_in_bulk.job,
                coalesce((operation.options -> 'fresh')::boolean, false),
                operation.reason, operation.initiated_by, operation.via);
        WHEN 'rerun' THEN
            PERFORM tenant.rerun_job(act_in_bulk.job, operation.reason, operation.initiated_by,
                operation.via);
        ELSE
            PERFORM tenant.stop_job(act_in_bulk.job, operation.intent, operation.reason,
                operation.initiated_by, operation.via,
                jsonb_populate_record(NULL::tenure.stop_options, operation.options), operation.whose);
    END CASE;
    RETURN 'done';
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR lock_not_available THEN
        RETURN 'busy';
    WHEN OTHERS THEN
        RETURN format('job %s: %s', act_in_bulk.job, sqlerrm);
END $$;
