-- Give up a failed job, or every failed job of a target: it is cancelled and blocks nothing.
CREATE OR REPLACE FUNCTION tenant.clear(
    job bigint DEFAULT NULL, target text DEFAULT NULL, reason text DEFAULT NULL, by text DEFAULT NULL,
    via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    refusal CONSTANT json := CASE WHEN clear.job IS NOT NULL
        THEN tenant.forbidden('clear', 'operator', 'job', clear.job::text, by, via, role)
        ELSE tenant.forbidden('clear', 'admin', 'target', clear.target, by, via, role) END;
    ids     bigint[];
    now_ts  timestamptz;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF num_nonnulls(clear.job, clear.target) <> 1 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'clear takes a job or a target, one of them';
    END IF;
    ids := CASE WHEN clear.job IS NOT NULL THEN ARRAY[clear.job]
        ELSE ARRAY(SELECT j.id FROM tenant.job AS j WHERE j.target = clear.target AND j.state = 'failed') END;
    PERFORM tenant.lock_tree(ids);
    now_ts := tenure.now();
    ids := ARRAY(SELECT j.id FROM tenant.job AS j WHERE j.id = ANY (ids) AND j.state = 'failed');
    IF clear.job IS NOT NULL AND ids = '{}' THEN
        PERFORM tenant.refuse_verb(clear.job, 'clear');
    END IF;
    IF EXISTS (SELECT FROM unnest(ids) AS i WHERE tenant.lives_below(i)) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN003',
            MESSAGE = format('cannot clear job %s while something below it is not over; cancel that first',
            (SELECT i FROM unnest(ids) AS i WHERE tenant.lives_below(i) LIMIT 1));
    END IF;
    UPDATE tenant.job AS j SET state = 'cancelled', ended_at = now_ts, holds = false, blocks = false
    WHERE j.id = ANY (ids);
    PERFORM tenant.release_holds(ids, ids,
        (SELECT array_agg(DISTINCT j.parent_id) FILTER (WHERE j.parent_id IS NOT NULL) FROM tenant.job AS j
            WHERE j.id = ANY (ids)),
        (SELECT array_agg(DISTINCT j.target) FILTER (WHERE j.target IS NOT NULL) FROM tenant.job AS j
            WHERE j.id = ANY (ids)));
    PERFORM tenant.write_audit(tenure.actor(by), via, 'clear',
        CASE WHEN clear.job IS NULL THEN 'target' ELSE 'job' END,
        coalesce(clear.target, clear.job::text), reason,
        '{"state": "failed"}', jsonb_build_object('jobs', to_jsonb(ids)));
    RETURN json_build_object('cleared', to_json(ids));
END $$;
