-- End grants and reservations of running jobs ("settled"), then make those that they ask for ("asks").
-- Return the answers by job and number of the request.
--
-- A settled grant that says what was used gives back the rest, or takes more. One that only says
-- "retry_after" stays, and closes the limit for everybody. Limits are locked in the order of their names.
CREATE OR REPLACE FUNCTION tenant.exchange_grants(worker uuid, reports jsonb, now_ts timestamptz) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    item    record;
    answers jsonb := '{}';
BEGIN
    FOR item IN
        SELECT g.job_id, g.number, g.name, g.amounts, s.value AS news
        FROM jsonb_to_recordset(reports) AS r(job bigint, settled jsonb)
        CROSS JOIN LATERAL jsonb_array_elements(r.settled) WITH ORDINALITY AS s(value, place)
        CROSS JOIN LATERAL (SELECT o.* FROM tenant.limit_grant AS o
            WHERE o.job_id = r.job AND o.number = (s.value ->> 'number')::bigint AND o.number > 0) AS g
        ORDER BY g.name, g.job_id, s.place
    LOOP
        PERFORM tenant.settle_grant(item.job_id, item.number, item.name, item.amounts, item.news, now_ts);
    END LOOP;
    DELETE FROM tenant.reservation AS v
    USING jsonb_to_recordset(reports) AS r(job bigint, settled jsonb), jsonb_array_elements(r.settled) AS s
    WHERE v.holder_id = r.job AND v.number = (s.value ->> 'number')::bigint AND s.value ? 'used';
    FOR item IN
        SELECT r.job, a.value AS ask FROM jsonb_to_recordset(reports) AS r(job bigint, asks jsonb)
        CROSS JOIN LATERAL jsonb_array_elements(r.asks) AS a
    LOOP
        answers := answers || jsonb_build_object(item.job, coalesce(answers -> item.job::text, '{}')
            || jsonb_build_object(item.ask ->> 'number', CASE WHEN item.ask ? 'limit'
                THEN tenant.grant_limit(item.job, item.ask, now_ts)
                ELSE tenant.reserve_budget(item.job, item.ask, worker) END));
    END LOOP;
    RETURN answers;
END $$;
