-- Publish an event: every job that waits for its name and key gets it, now or within the retention. Also in
-- the caller's transaction: the jobs get it after the commit. Return its id.
CREATE OR REPLACE FUNCTION tenant.publish(
    name text, key text DEFAULT '', payload jsonb DEFAULT NULL, keep interval DEFAULT '7 days',
    by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    refusal CONSTANT json := tenant.forbidden('publish', 'operator', 'event', publish.name, by, via, role);
    now_ts  CONSTANT timestamptz := tenure.now();
    new     bigint;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF coalesce(length(publish.name) NOT BETWEEN 1 AND {event_name.max}, true)
        OR length(publish.key) > {event_key.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'an event has a name of 1 to {event_name.max} '
            'characters and a key of at most {event_key.max}';
    ELSIF pg_column_size(payload) > {event_payload.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'the payload of an event takes at most {event_payload.max} bytes';
    ELSIF tenure.json_error(payload) IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'the payload of an event cannot be ' || tenure.json_error(payload);
    ELSIF keep IS NULL OR keep < interval '0' OR keep > {event_keep.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'an event is kept for 0 s to 36500 days';
    END IF;
    INSERT INTO tenant.publication (name, key, payload, published_at, published_by, expires_at)
    VALUES (publish.name, coalesce(publish.key, ''), payload, now_ts, tenure.actor(by), now_ts + keep)
    RETURNING id INTO new;
    INSERT INTO tenant.wake (publication_id) VALUES (new);
    PERFORM tenant.notify_idle(ARRAY(
        SELECT DISTINCT l.queue FROM tenant.job_step AS s
        JOIN tenant.job AS j ON j.id = s.job_id JOIN tenant.lane AS l ON l.id = j.lane
        WHERE s.event = publish.name AND s.key = coalesce(publish.key, '') AND s.ended_at IS NULL));
    RETURN json_build_object('id', new);
END $$;
