-- Return changes among the cancellation records: the open ones, newest first, and those that ended since
-- the last call, oldest first. "above" is "last" of the previous answer; the first call starts at the end.
--
-- An end is numbered before it is committed: those of the last half minute are returned again, and the
-- caller recognises them by their number. The mark of an open record changes when anything in it has
-- changed.
CREATE OR REPLACE FUNCTION tenant.movements(above bigint DEFAULT NULL) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    page   CONSTANT integer := 1000;
    now_ts CONSTANT timestamptz := tenure.now();
    since  CONSTANT bigint := coalesce(above,
        (SELECT coalesce(max(e.id), 0) FROM tenant.event AS e WHERE e.kind = 'cancellation'));
BEGIN
    RETURN (
        WITH ended AS MATERIALIZED (
            (SELECT e.id, e.detail ->> 'cancellation_id' AS name FROM tenant.event AS e
             WHERE e.kind = 'cancellation' AND e.id > since ORDER BY e.id LIMIT page)
            UNION ALL
            SELECT e.id, e.detail ->> 'cancellation_id' FROM tenant.event AS e
            WHERE e.kind = 'cancellation' AND e.id > since - page AND e.id <= since
              AND e.at > now_ts - interval '30 seconds'
        ), open AS MATERIALIZED (
            SELECT c.id, c.intent, c.status, c.force FROM tenant.cancellation AS c
            WHERE c.completed_at IS NULL ORDER BY c.id DESC LIMIT page
        )
        SELECT json_build_object(
            'last', greatest(since, (SELECT max(e.id) FROM ended AS e)),
            'open', (SELECT coalesce(
                json_agg(json_build_object('cancellation_id', tenant.cancellation_name(o.id, o.intent),
                'mark', md5(concat(o.status, o.force,
                    (SELECT concat(count(*), string_agg(m.reached::text, ' ' ORDER BY m.job_id))
                        FROM tenant.member AS m
                     WHERE m.stop_id = o.id AND m.ended_at IS NULL),
                    (SELECT string_agg(concat(s.status, s.details), ' ' ORDER BY s.place)
                        FROM tenant.step AS s
                     WHERE s.stop_id = o.id)))) ORDER BY o.id DESC), '[]') FROM open AS o),
            'ended', (SELECT coalesce(
                json_agg(json_build_object('id', e.id, 'cancellation_id', e.name) ORDER BY e.id), '[]')
                FROM ended AS e)));
END $$;
