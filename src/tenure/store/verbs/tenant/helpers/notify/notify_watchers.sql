-- Notify subscribers that these cancellation records have changed. It is a hint: subscribers also poll.
CREATE OR REPLACE FUNCTION tenant.notify_watchers(stops bigint[]) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
BEGIN
    PERFORM pg_notify('tenure_events', json_build_object('tenant', '{tenant}', 'kind', 'cancellation',
        'cancellation_id', tenant.cancellation_name(c.id, c.intent), 'job_id', c.root_id,
        'status', c.status)::text)
    FROM tenant.cancellation AS c WHERE c.id = ANY (stops);
END $$;
