-- Return a cancellation record by its name, or the latest record of a job.
CREATE OR REPLACE FUNCTION tenant.cancellation(name text DEFAULT NULL, job bigint DEFAULT NULL) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stop CONSTANT bigint := tenant.find_cancellation(name, job);
BEGIN
    RETURN (tenant.cancellation_report(stop)::jsonb
        || jsonb_build_object('members', tenant.member_reports(stop)))::json;
END $$;
