-- Return the lanes of the queues or tasks whose error rate exceeds the limit of a policy; with a rate by
-- tag all lanes or none. Null: the policy has no such condition.
CREATE OR REPLACE FUNCTION tenant.policy_failing(spec jsonb, now_ts timestamptz) RETURNS integer[]
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    rate   CONSTANT jsonb := spec #> '{when,error_rate}';
    kind   CONSTANT text := coalesce(rate ->> 'by', 'queue');
    last   CONSTANT integer := coalesce((rate ->> 'of')::integer, 20);
    within CONSTANT interval := coalesce(rate ->> 'within', '1h')::interval;
    above  CONSTANT numeric := (rate ->> 'above')::numeric;
BEGIN
    IF rate IS NULL THEN
        RETURN NULL;
    ELSIF kind = 'tag' THEN
        RETURN ARRAY(SELECT l.id FROM tenant.lane AS l
            WHERE (SELECT tenant.policy_error_rate(NULL, spec #>> '{filter,tag}', last, within,
                now_ts)) > above);
    END IF;
    RETURN ARRAY(SELECT unnest(g.lanes) FROM (
            SELECT array_agg(l.id) AS lanes,
                coalesce(bool_or((NOT spec -> 'filter' ? 'queue' OR l.queue = spec #>> '{filter,queue}')
                    AND (NOT spec -> 'filter' ? 'task' OR l.task = spec #>> '{filter,task}')), false) AS asked
            FROM tenant.lane AS l WHERE l.task IS NOT NULL
            GROUP BY CASE kind WHEN 'queue' THEN l.queue ELSE l.task END) AS g
        WHERE g.asked AND tenant.policy_error_rate(g.lanes, NULL, last, within, now_ts) > above);
END $$;
