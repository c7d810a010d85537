-- Jobs, newest first, that match a filter; a page goes on below the last id of the one before.
CREATE OR REPLACE FUNCTION tenant.list_jobs(filter jsonb DEFAULT '{}', below bigint DEFAULT NULL, n integer DEFAULT 50) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known CONSTANT text[] := ARRAY['status', 'state', 'queue', 'task', 'target', 'owner', 'tag', 'key', 'parent', 'root',
        'worker', 'text', 'since', 'until'];
BEGIN
    IF EXISTS (SELECT FROM jsonb_object_keys(filter) AS k WHERE k <> ALL (known)) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('jobs cannot be filtered by %L; by %s they can',
            (SELECT k FROM jsonb_object_keys(filter) AS k WHERE k <> ALL (known) LIMIT 1), array_to_string(known, ', '));
    ELSIF n NOT BETWEEN 1 AND 1000 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('a page of %s jobs is not possible; 1 to 1000 are', n);
    END IF;
    RETURN (SELECT coalesce(json_agg(to_jsonb(page) - 'args' - 'options' - 'result' - 'checkpoint' - 'cleanup'), '[]') FROM (
        SELECT j.* FROM tenant.jobs AS j
        WHERE (below IS NULL OR j.id < below)
          AND (NOT filter ? 'status' OR j.status = filter ->> 'status')
          AND (NOT filter ? 'state' OR j.state::text = filter ->> 'state')
          AND (NOT filter ? 'queue' OR j.queue = filter ->> 'queue')
          AND (NOT filter ? 'task' OR j.task = filter ->> 'task')
          AND (NOT filter ? 'target' OR j.target = filter ->> 'target')
          AND (NOT filter ? 'owner' OR j.owner = filter ->> 'owner')
          AND (NOT filter ? 'tag' OR j.tags @> ARRAY[filter ->> 'tag'])
          AND (NOT filter ? 'key' OR j.key = filter ->> 'key')
          AND (NOT filter ? 'parent' OR j.parent_id = (filter ->> 'parent')::bigint)
          AND (NOT filter ? 'root' OR j.root_id = (filter ->> 'root')::bigint)
          AND (NOT filter ? 'worker' OR j.worker_id = (filter ->> 'worker')::uuid)
          AND (NOT filter ? 'text' OR strpos(lower(j.args::text), lower(filter ->> 'text')) > 0)
          AND (NOT filter ? 'since' OR j.created_at >= (filter ->> 'since')::timestamptz)
          AND (NOT filter ? 'until' OR j.created_at < (filter ->> 'until')::timestamptz)
        ORDER BY j.id DESC LIMIT n) AS page);
END $$;
