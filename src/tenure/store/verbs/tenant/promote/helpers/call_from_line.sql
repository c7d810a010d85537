-- Make the first jobs in the line of a limit ready and return their ids. The limit is locked.
--
-- A job whose target was paused meanwhile holds its target and waits for that again. Its lock excludes a
-- pause that is being written; where it cannot be had, the job stays in the line.
CREATE OR REPLACE FUNCTION tenant.call_from_line(name text, room integer, now_ts timestamptz) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    ids     bigint[];
    allowed bigint[];
    closed  text[];
BEGIN
    ids := ARRAY(SELECT j.id FROM tenant.job AS j WHERE j.waiting = 'limit' AND j.limits[1] = name
        ORDER BY j.priority DESC, j.position LIMIT greatest(room, 0) FOR UPDATE SKIP LOCKED);
    IF ids = '{}' THEN
        RETURN ids;
    END IF;
    allowed := ARRAY(SELECT j.id FROM tenant.job AS j WHERE j.id = ANY (ids) AND (j.target IS NULL
        OR pg_try_advisory_xact_lock(tenant.target_class(), hashtext(j.target))));
    closed := ARRAY(SELECT p.name FROM tenant.pause AS p WHERE p.subject = 'target');
    WITH called AS (
        UPDATE tenant.job AS j SET
            ready = (j.target = ANY (closed)) IS NOT TRUE,
            waiting = CASE WHEN j.target = ANY (closed) THEN 'target'::tenure.reason END,
            run_at = now_ts, position = t.position
        FROM (SELECT o.id, nextval('tenant.activity') AS position FROM (
                SELECT a.id FROM unnest(ids) WITH ORDINALITY AS a(id, place)
                WHERE a.id = ANY (allowed) ORDER BY a.place) AS o) AS t
        WHERE j.id = t.id
        RETURNING j.id, j.ready
    )
    SELECT coalesce(array_agg(c.id) FILTER (WHERE c.ready), '{}') INTO ids FROM called AS c;
    RETURN ids;
END $$;
