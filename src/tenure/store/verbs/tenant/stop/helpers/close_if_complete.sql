-- Close a record that has no open member: partial if something could not be confirmed.
CREATE OR REPLACE FUNCTION tenant.close_if_complete(stop bigint) RETURNS boolean
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{plain_index_scans} AS $$
BEGIN
    IF EXISTS (SELECT FROM tenant.member AS m WHERE m.stop_id = stop AND m.ended_at IS NULL)
            OR NOT EXISTS (SELECT FROM tenant.cancellation AS c
                WHERE c.id = stop AND c.completed_at IS NULL) THEN
        RETURN false;
    END IF;
    PERFORM tenant.end_record(stop, CASE WHEN EXISTS (
            SELECT FROM tenant.step AS s WHERE s.stop_id = stop AND s.status = 'failed'
            UNION ALL SELECT FROM tenant.member AS m WHERE m.stop_id = stop AND m.error IS NOT NULL)
        THEN 'partial' ELSE 'completed' END, NULL);
    RETURN true;
END $$;
