-- Return the refusal if the caller may not enqueue these jobs, as the answer of the verb; null if it may.
--
-- A viewer enqueues nothing. An operator enqueues in its own name, with its own keys, and adds children to
-- its own jobs.
CREATE OR REPLACE FUNCTION tenant.forbidden_drafts(drafts tenure.draft[], by text, via text, role text)
RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off AS $$
DECLARE
    actor  CONSTANT text := tenure.actor(by);
    has    CONSTANT text := tenant.role_of(role);
    other  text;
    shares boolean;
    linked boolean;
    alien  bigint;
    unseen text;
BEGIN
    IF has = 'admin' THEN
        RETURN NULL;
    ELSIF has = 'viewer' THEN
        RETURN tenant.forbidden('enqueue', 'operator', 'tenant', '', by, via, role);
    END IF;
    SELECT min(d.owner) FILTER (WHERE tenure.actor(d.owner) <> actor), bool_or(d.key_scope = 'tenant'),
        bool_or(d.parent IS NOT NULL OR d.after IS NOT NULL)
    INTO other, shares, linked FROM unnest(drafts) AS d;
    IF other IS NOT NULL THEN
        RETURN tenant.refused('enqueue', 'tenant', '', actor, via,
            format('a job of %s is enqueued by %s or an admin; %s is neither', other, other, actor));
    ELSIF shares THEN
        RETURN tenant.refused('enqueue', 'tenant', '', actor, via,
            format('%s is an operator and may not share keys with the whole tenant; an admin may', actor));
    ELSIF NOT coalesce(linked, false) THEN
        RETURN NULL;
    END IF;
    IF NOT tenant.can_see_all_jobs() THEN
        -- A job that the caller may not see does not exist for it, neither as a parent nor as a dependency.
        SELECT format('there is no job %s %s', x.name, x.doing) INTO unseen FROM (
            SELECT d.parent AS name, 'to be a parent' AS doing FROM unnest(drafts) AS d
            UNION ALL
            SELECT CASE jsonb_typeof(a.need) WHEN 'object' THEN a.need -> 'job' ELSE a.need END,
                'to come after'
            FROM unnest(drafts) AS d CROSS JOIN LATERAL jsonb_array_elements(
                CASE jsonb_typeof(d.after) WHEN 'array' THEN d.after ELSE '[]' END) AS a(need)) AS x
        WHERE CASE WHEN jsonb_typeof(x.name) = 'number' AND x.name::text ~ '^[0-9]{1,18}$'
            THEN NOT tenant.can_see_job(x.name::text::bigint) END
        LIMIT 1;
        IF unseen IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'TN002', MESSAGE = unseen;
        END IF;
    END IF;
    SELECT p.job_id, p.owner INTO alien, other FROM (
        SELECT d.parent::text::bigint AS id FROM unnest(drafts) AS d
        WHERE jsonb_typeof(d.parent) = 'number' AND d.parent::text ~ '^[0-9]{1,18}$') AS x
    JOIN tenant.payload AS p ON p.job_id = x.id
    WHERE p.owner <> actor LIMIT 1;
    IF alien IS NOT NULL THEN
        RETURN tenant.refused('enqueue', 'job', alien::text, actor, via,
            format('job %s belongs to %s; only %s or an admin may add tasks to it', alien, other, other));
    END IF;
    RETURN NULL;
END $$;
