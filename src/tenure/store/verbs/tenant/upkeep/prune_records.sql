-- Delete closed cancellation records of jobs that are gone, and audit rows, that are older than this. For
-- the owner of the schema only: no other role may delete records.
CREATE OR REPLACE FUNCTION tenant.prune_records(keep_records interval DEFAULT NULL,
    keep_audit interval DEFAULT NULL) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    records integer := 0;
    audits  integer := 0;
BEGIN
    IF keep_records IS NOT NULL THEN
        WHILE tenant.add_to_tally() > 0 LOOP NULL; END LOOP;
        WITH old AS (DELETE FROM tenant.cancellation AS c
            WHERE c.completed_at < now_ts - keep_records AND c.tallied
                AND NOT EXISTS (SELECT FROM tenant.job AS j WHERE j.id = c.job_id) RETURNING c.id),
        members AS (DELETE FROM tenant.member AS m USING old WHERE m.stop_id = old.id),
        steps AS (DELETE FROM tenant.step AS s USING old WHERE s.stop_id = old.id)
        SELECT count(*) INTO records FROM old;
    END IF;
    IF keep_audit IS NOT NULL THEN
        DELETE FROM tenant.audit AS a WHERE a.at < now_ts - keep_audit;
        GET DIAGNOSTICS audits = ROW_COUNT;
    END IF;
    RETURN json_build_object('records', records, 'audit', audits);
END $$;
