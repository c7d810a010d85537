-- Return these workers in the order in which to drain them: first those that cannot run jobs, then by the
-- time that their running jobs have taken so far, which is what a drain may interrupt; of equal ones the
-- youngest first. Those that are "shared" serve more than what was asked about. Jobs of all tenants decide,
-- and only those of this tenant are counted in the answer.
CREATE OR REPLACE FUNCTION tenant.drain_order(ids uuid[], shared uuid[]) RETURNS json
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{plain_index_scans} AS $$
DECLARE
    now_ts CONSTANT timestamptz := tenure.now();
    place  tenure.tenant;
    part   jsonb;
    own    jsonb := '{}';
    taken  jsonb := '{}';
BEGIN
    FOR place IN
        SELECT t.* FROM tenure.tenant AS t
        WHERE EXISTS (SELECT FROM tenure.hold AS h WHERE h.tenant = t.name AND h.worker_id = ANY (ids))
    LOOP
        EXECUTE format($held$
            SELECT jsonb_object_agg(w.id, jsonb_build_array(s.jobs, s.seconds))
            FROM unnest($1) AS w(id) CROSS JOIN LATERAL (
                SELECT count(*) AS jobs, sum(greatest(tenure.seconds_between(j.started_at, $2), 0)) AS seconds
                FROM %I.job AS j WHERE j.worker_id = w.id AND j.state = 'running') AS s
            WHERE s.jobs > 0
            $held$, place.schema) INTO part USING ids, now_ts;
        IF place.name = '{tenant}' THEN
            own := coalesce(part, '{}');
        END IF;
        taken := taken || coalesce((SELECT jsonb_object_agg(p.key, coalesce((taken ->> p.key)::numeric, 0)
            + (p.value ->> 1)::numeric) FROM jsonb_each(part) AS p), '{}');
    END LOOP;
    RETURN (
        SELECT coalesce(json_agg(json_build_object('id', w.id, 'host', w.host, 'jobs', w.jobs,
                'shared', w.id = ANY (shared),
                'sentence', concat_ws('; ', 'it cannot start a runner: ' || w.trouble,
                    CASE WHEN w.jobs = 0 AND w.taken > 0 THEN 'it runs no job of this tenant'
                        WHEN w.jobs = 0 THEN 'it runs no job'
                        ELSE format('it runs %s that %s taken %s s so far', CASE w.jobs
                            WHEN 1 THEN '1 job' ELSE w.jobs || ' jobs' END,
                            CASE w.jobs WHEN 1 THEN 'has' ELSE 'have' END, round(w.seconds)) END))
            ORDER BY w.trouble IS NULL, w.taken, w.started_at DESC, w.id), '[]')
        FROM (
            SELECT o.*, coalesce((own #>> ARRAY[o.id::text, '0'])::bigint, 0) AS jobs,
                coalesce((own #>> ARRAY[o.id::text, '1'])::numeric, 0) AS seconds,
                coalesce((taken ->> o.id::text)::numeric, 0) AS taken
            FROM tenure.worker AS o WHERE o.id = ANY (ids)) AS w);
END $$;
