-- Return how many workers the work of this tenant wants so that ready jobs begin within a time, why, and in
-- which order to drain workers if there are more. Of all queues and tasks or of some, from "min" to "max".
--
-- Nothing is changed. A worker has slots of each kind at once, so the kind that wants most workers decides.
CREATE OR REPLACE FUNCTION tenant.scale(
    queues text[] DEFAULT NULL, tasks text[] DEFAULT NULL, "within" interval DEFAULT '1 minute',
    min integer DEFAULT 0, max integer DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    ids     uuid[];
    shared  uuid[];  -- those that serve other queues, tasks or tenants too: they are never too many
    needs   json;
    busiest record;
    exact   double precision;
    wanted  bigint;
BEGIN
    IF "within" IS NULL OR "within" NOT BETWEEN {scale_within.min} AND {scale_within.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
            'jobs should begin within 1 second to 1 day, and not within %s',
            coalesce("within"::text, 'no time'));
    ELSIF min IS NULL OR min NOT BETWEEN 0 AND {fleet.max} OR max NOT BETWEEN 0 AND {fleet.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'a fleet has 0 to {fleet.max} workers';
    ELSIF min > max THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
            'the minimum of %s workers is more than the maximum of %s', min, max);
    ELSIF NOT coalesce(tenure.are_names(to_jsonb(queues), {served.max}, {served.each}), true)
            OR NOT coalesce(tenure.are_names(to_jsonb(tasks), {served.max}, {served.each}), true) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'queues and tasks are at most {served.max} names each';
    END IF;
    ids := ARRAY(SELECT w.id FROM tenure.worker AS w LEFT JOIN tenure.serving AS s ON s.worker_id = w.id
        WHERE w.dead_at IS NULL AND w.left_at IS NULL AND w.draining_at IS NULL AND w.expires_at > now_ts
          AND (w.tenants IS NULL OR '{tenant}' = ANY (w.tenants))
          AND (scale.queues IS NULL OR w.queues IS NULL OR w.queues && scale.queues)
          AND (scale.tasks IS NULL OR s.worker_id IS NULL OR s.tasks ?| scale.tasks)
        ORDER BY w.started_at DESC LIMIT 1000);
    shared := ARRAY(SELECT w.id FROM tenure.worker AS w WHERE w.id = ANY (ids)
        AND (scale.tasks IS NOT NULL OR NOT coalesce(w.queues <@ scale.queues, scale.queues IS NULL)
          OR CASE WHEN w.tenants IS NULL THEN (SELECT count(*) FROM tenure.tenant) > 1
            ELSE cardinality(w.tenants) > 1 END));
    SELECT json_agg(to_json(b) ORDER BY b.workers DESC, b.queue, b.task) INTO needs
    FROM tenant.backlog(queues, tasks, "within") AS b;
    SELECT k.* INTO busiest FROM (
        SELECT n.kind, sum(n.workers) AS workers, sum(n.slots) AS slots, sum(n.startable) AS startable,
            sum(n.running) AS running, sum(n.slots) / nullif(sum(n.workers), 0) AS each,
            bool_and(n.capacity IS NULL) AS unknown
        FROM json_to_recordset(needs) AS n(kind text, workers double precision, slots double precision,
            startable bigint, running bigint, capacity double precision) GROUP BY n.kind) AS k
    ORDER BY k.workers DESC, k.kind LIMIT 1;
    exact := coalesce(busiest.workers, 0);
    -- Sums of fractions: what is a whole number except for rounding is one.
    wanted := least(greatest(ceil(exact - 0.000001)::bigint, min), max);
    RETURN json_build_object(
        'wanted', wanted,
        'alive', cardinality(ids),
        'surplus', greatest(least(cardinality(ids) - wanted, cardinality(ids) - cardinality(shared)), 0),
        'exact', exact,
        'sentence', CASE WHEN exact = 0 THEN 'no job runs, and none could start'
            WHEN busiest.unknown THEN format('%s could start, and no worker has served their queue yet: the '
                'first shows how many a worker runs at once', CASE busiest.startable WHEN 1 THEN '1 job'
                ELSE busiest.startable || ' jobs' END)
            ELSE format('%s running and %s ready jobs fill %s slots (%s), of which a worker has %s',
                busiest.running, busiest.startable, round(busiest.slots::numeric, 1), busiest.kind,
                round(busiest.each::numeric, 1)) END
            || CASE WHEN wanted > ceil(exact - 0.000001) THEN format('; %s is the minimum', min)
                WHEN wanted < ceil(exact - 0.000001) THEN format('; %s is the maximum', max) ELSE '' END,
        'work', coalesce(needs, '[]'),
        'drain_order', tenant.drain_order(ids, shared));
END $$;
