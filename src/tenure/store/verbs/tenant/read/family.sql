-- Return the family below a job for a timeline: its ancestors, a page of its children in the order of their
-- ids, each with a few descendants, how many children are in each state, and when they started and ended.
-- Only those that ran within the given time; all of them without one.
CREATE OR REPLACE FUNCTION tenant.family(job bigint, after bigint DEFAULT 0, n integer DEFAULT 50,
    state text DEFAULT NULL, since timestamptz DEFAULT NULL, until timestamptz DEFAULT NULL) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    steps  CONSTANT integer := 100;    -- parts of the time in which starts and ends are counted
    first  CONSTANT timestamptz := (SELECT j.created_at FROM tenant.job AS j
        WHERE j.id = family.job AND tenant.can_see_job(family.job));
    counts jsonb;
    last   timestamptz;
    spread jsonb;
BEGIN
    IF first IS NULL THEN
        PERFORM tenant.refuse_verb(family.job, 'show');
    END IF;
    SELECT coalesce(jsonb_object_agg(c.state, c.jobs), '{}'), max(c.last) INTO counts, last FROM (
        SELECT c.state, count(*) AS jobs, max(coalesce(c.ended_at, now_ts)) AS last FROM tenant.job AS c
        WHERE c.parent_id = family.job GROUP BY c.state) AS c;
    last := greatest(last, first + interval '1 ms',
        (SELECT coalesce(j.ended_at, now_ts) FROM tenant.job AS j WHERE j.id = family.job));
    since := coalesce(since, first);
    until := greatest(coalesce(until, last), since + interval '1 ms');
    SELECT coalesce(jsonb_agg(jsonb_build_array(b.part, b.started, b.ended, b.failed) ORDER BY b.part), '[]')
    INTO spread FROM (
        SELECT least(width_bucket(extract(epoch FROM x.at), extract(epoch FROM since),
                extract(epoch FROM until), steps), steps + 1) AS part,
            sum(x.started) AS started, sum(1 - x.started) AS ended, sum(x.failed) AS failed
        FROM tenant.job AS c
        CROSS JOIN LATERAL (VALUES (c.started_at, 1, 0),
            (CASE WHEN c.started_at IS NOT NULL THEN c.ended_at END, 0, (c.state = 'failed')::integer)
            ) AS x(at, started, failed)
        WHERE c.parent_id = family.job AND x.at IS NOT NULL GROUP BY 1) AS b;
    RETURN json_build_object('since', since, 'until', until, 'first', first, 'last', last,
        'counts', counts, 'spread', spread,
        'ancestors', (WITH RECURSIVE above AS (
            SELECT j.id, j.parent_id, 0 AS height FROM tenant.job AS j WHERE j.id = family.job
            UNION ALL SELECT p.id, p.parent_id, a.height + 1 FROM above AS a
                JOIN tenant.job AS p ON p.id = a.parent_id WHERE a.height < 10)
            SELECT coalesce(json_agg(a.id ORDER BY a.height DESC), '[]') FROM above AS a WHERE a.height > 0),
        'members', (WITH RECURSIVE page AS (
            SELECT c.id FROM tenant.job AS c
            WHERE c.parent_id = family.job AND c.id > after
              AND (family.state IS NULL OR c.state::text = family.state)
              AND c.created_at <= until AND coalesce(c.ended_at, now_ts) >= since
            ORDER BY c.id LIMIT tenure.batch_size(n)
        ), tree AS (
            SELECT p.id, 1 AS depth FROM page AS p
            UNION ALL SELECT c.id, t.depth + 1 FROM tree AS t CROSS JOIN LATERAL (
                SELECT f.id FROM (SELECT j.id FROM tenant.job AS j WHERE j.parent_id = t.id LIMIT 100) AS f
                ORDER BY f.id LIMIT 5) AS c WHERE t.depth < 5)
            SELECT coalesce(json_agg(json_build_object('id', v.id, 'parent_id', v.parent_id,
                'depth', t.depth, 'task', v.task, 'key', v.key, 'status', v.status, 'state', v.state,
                'waiting', v.waiting, 'args', tenant.preview(v.args), 'created_at', v.created_at,
                'started_at', v.started_at, 'completed_at', v.completed_at, 'attempt', v.attempt,
                'error', left(v.error_message, 200),
                'attempts', tenant.latest_attempts(v.id, 20),
                'children', (SELECT count(*) FROM (
                    SELECT FROM tenant.job AS c WHERE c.parent_id = v.id LIMIT 1000) AS c)
                ) ORDER BY v.id), '[]')
            FROM (SELECT * FROM tree LIMIT 4 * n) AS t JOIN tenant.jobs AS v ON v.id = t.id));
END $$;
