-- Record which of these orphans were recovered, each as an event with its state and its former worker; return
-- the details of the events.
CREATE OR REPLACE FUNCTION tenant.note_recovered(orphans jsonb, accepted json) RETURNS jsonb
LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    WITH noted AS (
        INSERT INTO tenant.event (at, kind, job_id, worker_id, detail)
        SELECT tenure.now(), 'recovered', (o ->> 'job')::bigint, w.id,
            jsonb_build_object('state', a.key, 'worker', o -> 'worker',
                'host', w.host, 'pid', w.pid, 'beat_at', w.beat_at, 'expires_at', w.expires_at)
        FROM json_each(accepted) AS a CROSS JOIN json_array_elements(a.value) AS i
        JOIN jsonb_array_elements(orphans) AS o ON o -> 'job' = i::jsonb
        LEFT JOIN tenure.worker AS w ON w.id = (o ->> 'worker')::uuid
        RETURNING event.job_id, event.detail
    )
    SELECT coalesce(jsonb_agg(noted.detail - 'expires_at' || jsonb_build_object('job', noted.job_id)), '[]')
    FROM noted;
$$;
