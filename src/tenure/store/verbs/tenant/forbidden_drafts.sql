-- Why whoever asks may not enqueue these jobs, as the answer of the verb; null: they may.
--
-- A viewer enqueues nothing. An operator enqueues in its own name, adds tasks to jobs of its own, and
-- replaces only what is its own.
CREATE OR REPLACE FUNCTION tenant.forbidden_drafts(drafts tenure.draft[], by text, via text, role text) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    has     CONSTANT text := tenant.role_of(role);
    other   text;
    alien   bigint;
    doing   text;
BEGIN
    IF has = 'admin' THEN
        RETURN NULL;
    ELSIF has = 'viewer' THEN
        RETURN tenant.forbidden('enqueue', 'operator', 'tenant', '', by, via, role);
    END IF;
    SELECT d.owner INTO other FROM unnest(drafts) AS d WHERE tenure.actor(d.owner) <> actor AND d.owner IS NOT NULL LIMIT 1;
    IF other IS NOT NULL THEN
        RETURN tenant.refused('enqueue', 'tenant', '', actor, via,
            format('a job of %s is enqueued by %s or an admin; %s is neither', other, other, actor));
    END IF;
    SELECT p.job_id, p.owner, x.doing INTO alien, other, doing FROM (
        SELECT d.parent::text::bigint AS id, 'add tasks to' AS doing FROM unnest(drafts) AS d
        WHERE jsonb_typeof(d.parent) = 'number' AND d.parent::text ~ '^[0-9]{1,18}$'
        UNION ALL
        SELECT j.id, 'replace' FROM unnest(drafts) AS d JOIN tenant.job AS j
            ON j.unique_key = d."unique" AND j.state IN ('pending', 'running', 'paused')
        WHERE d.when_taken = 'replace') AS x
    JOIN tenant.payload AS p ON p.job_id = x.id
    WHERE p.owner <> actor LIMIT 1;
    IF alien IS NOT NULL THEN
        RETURN tenant.refused('enqueue', 'job', alien::text, actor, via,
            format('job %s belongs to %s; only %s or an admin may %s it', alien, other, other, doing));
    END IF;
    RETURN NULL;
END $$;
