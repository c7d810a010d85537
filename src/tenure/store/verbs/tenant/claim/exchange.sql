-- Finish, promote and claim in one call.
--
-- "outcomes" is what finish takes; "wants" is a list of {"n", "queues", "tasks", "floors"}, each what claim
-- takes; "claims" answers each want in its place. A want "in_turn" is a large one where there are many jobs:
-- it waits a moment for other claims of this kind. If asked to, or if what ended may have made other jobs
-- ready, it promotes in between, so that those are claimed in the same call. A promotion that fails costs
-- nothing else: it is recorded as an event, and "promote_error" tells why.
--
-- The worker is idle from here on, and notified of new jobs, if a want got less than it asked for, or if
-- the worker has capacity elsewhere ("wants_jobs"). "idled" means that it was not idle before: nobody was
-- notified of a job that arrived during this call, so claim once more. "next_due" is the number of seconds
-- until the next job that waits for its time; it is read only after a promotion or when a want was left
-- open.
CREATE OR REPLACE FUNCTION tenant.exchange(
    worker uuid, outcomes jsonb DEFAULT '[]', wants jsonb DEFAULT '[]', promoting boolean DEFAULT false,
    wants_jobs boolean DEFAULT false
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s'
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    finished json := '{"accepted": {}, "refused": [], "busy": [], "wakes": false}';
    promoted json;
    problem  text;
    want     record;
    taken    record;
    claims   json[] := '{}';
    open     boolean := false;
    idled    boolean;
    alive    boolean;
BEGIN
    IF jsonb_typeof(outcomes) <> 'array' OR jsonb_typeof(wants) <> 'array' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'exchange takes a list of outcomes and a list of wants';
    END IF;
    IF outcomes <> '[]' THEN
        finished := tenant.finish(worker, outcomes);
    END IF;
    IF promoting OR (finished ->> 'wakes')::boolean THEN
        BEGIN
            promoted := tenant.promote();
        EXCEPTION WHEN OTHERS THEN
            problem := SQLERRM;
            INSERT INTO tenant.event (at, kind, worker_id, detail)
            VALUES (tenure.now(), 'promote_failed', exchange.worker, jsonb_build_object('error', problem));
        END;
    END IF;
    FOR want IN SELECT * FROM jsonb_to_recordset(wants) AS w(n integer, queues text[], tasks text[],
        floors jsonb, in_turn boolean) LOOP
        IF want.in_turn THEN
            PERFORM tenant.await_turn();
        END IF;
        taken := tenant.claim_batch(worker, coalesce(want.n, 0), want.queues, want.tasks, want.floors);
        claims := claims || taken.answer;
        open := open OR taken.got < want.n;
        alive := taken.alive;
    END LOOP;
    idled := tenure.set_idle(worker, open OR wants_jobs);
    RETURN json_build_object(
        'alive', coalesce(alive, EXISTS (SELECT FROM tenure.worker AS w
            WHERE w.id = worker AND w.dead_at IS NULL)),
        'finished', finished, 'claims', array_to_json(claims), 'promoted', promoted, 'promote_error', problem,
        -- After the claims: what they leave to a limit becomes due too.
        'next_due', CASE WHEN promoted IS NOT NULL OR open THEN tenant.next_due() END,
        'idled', idled AND (open OR wants_jobs));
END $$;
