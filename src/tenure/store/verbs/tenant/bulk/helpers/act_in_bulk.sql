-- Do to one job what a bulk operation is for: done, refused because it is another's, over because it is no
-- longer as the operation found it, busy because somebody has it locked, or else why it could not be done.
CREATE OR REPLACE FUNCTION tenant.act_in_bulk(ours tenant.bulk, job bigint) RETURNS text
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    still boolean;
BEGIN
    IF ours.whose <> (SELECT p.owner FROM tenant.payload AS p WHERE p.job_id = act_in_bulk.job) THEN
        RETURN 'refused';
    END IF;
    PERFORM FROM tenant.job AS r
    WHERE r.id = (SELECT j.root_id FROM tenant.job AS j WHERE j.id = act_in_bulk.job) FOR UPDATE;
    PERFORM FROM tenant.job AS j WHERE j.id = act_in_bulk.job FOR UPDATE;
    -- As it is now: what was stopped with its parent a moment ago is not stopped again.
    EXECUTE format('SELECT EXISTS (SELECT %s AND j.id = $2 AND %s)', tenant.filtered_jobs(ours.filter),
        tenant.filter_reached(ours.intent, tenant.bulk_forces(ours.options)))
    INTO still USING ours.filter, act_in_bulk.job;
    IF NOT still THEN
        RETURN 'over';
    END IF;
    CASE ours.intent
        WHEN 'resume' THEN
            PERFORM tenant.resume_job(act_in_bulk.job, coalesce((ours.options -> 'fresh')::boolean, false),
                ours.reason, ours.initiated_by, ours.via);
        WHEN 'rerun' THEN
            PERFORM tenant.rerun_job(act_in_bulk.job, ours.reason, ours.initiated_by, ours.via);
        ELSE
            PERFORM tenant.stop_job(act_in_bulk.job, ours.intent, ours.reason, ours.initiated_by, ours.via,
                jsonb_populate_record(NULL::tenure.stop_options, ours.options), ours.whose);
    END CASE;
    RETURN 'done';
EXCEPTION
    WHEN serialization_failure OR deadlock_detected OR lock_not_available THEN
        RETURN 'busy';
    WHEN OTHERS THEN
        RETURN format('job %s: %s', act_in_bulk.job, sqlerrm);
END $$;
