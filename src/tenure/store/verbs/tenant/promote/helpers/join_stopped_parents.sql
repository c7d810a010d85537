-- Stop jobs that were enqueued while an ancestor was being stopped. A job whose insert was in flight when
-- the stop searched the tree passes through here before it can become ready.
CREATE OR REPLACE FUNCTION tenant.join_stopped_parents(ids bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    stray record;
BEGIN
    IF (SELECT true FROM tenant.job AS a WHERE a.id = ANY (tenant.ancestors_of(ids))
        AND (a.stop_id IS NOT NULL OR a.state = 'cancelled') LIMIT 1) THEN
        FOR stray IN
            SELECT j.id, above.stop_id FROM tenant.job AS j CROSS JOIN LATERAL (
                SELECT a.stop_id FROM tenant.job AS a
                WHERE a.id = ANY (tenant.ancestors(j.id)) AND (a.stop_id IS NOT NULL OR a.state = 'cancelled')
                ORDER BY a.id DESC LIMIT 1) AS above
            WHERE j.id = ANY (ids) AND j.state = 'pending' AND j.stop_id IS NULL
        LOOP
            PERFORM tenant.stop_members(stray.stop_id, ARRAY[stray.id]);
        END LOOP;
    END IF;
    PERFORM tenant.end_stopped_parents(ids, tenure.now());
END $$;
