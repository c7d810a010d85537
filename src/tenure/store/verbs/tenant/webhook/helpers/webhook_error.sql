-- Return why this cannot be a webhook, as a sentence; null if it can. Whether its host may be reached is
-- checked at every request, when the address is known.
CREATE OR REPLACE FUNCTION tenant.webhook_error(name text, url text, events text[], tasks text[]) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    known CONSTANT text[] := tenant.webhook_events();
BEGIN
    IF name IS NULL OR name !~ '^[A-Za-z0-9_-][A-Za-z0-9._-]*$' OR length(name) > {webhook.max} THEN
        RETURN 'a webhook has a name of 1 to {webhook.max} letters, digits, dots, hyphens and underscores, '
            'and the first is no dot';
    ELSIF url IS NULL OR length(url) > {webhook_url.max} OR url !~ '^https?://[!-~]+$'
        OR url ~ '^https?://[^/?#]*[@\\]' OR url ~ '[#\\]' THEN
        RETURN 'the URL of a webhook begins with https:// or http://, has at most {webhook_url.max} '
            'characters, all of them printable ASCII, and contains no user, backslash or fragment';
    ELSIF events = '{}' OR NOT events <@ known THEN
        RETURN format('a webhook is for all events, or for one or more of %s',
            array_to_string(known, ', '));
    END IF;
    RETURN CASE WHEN tasks = '{}' OR cardinality(tasks) > {webhook_tasks.max}
            OR NOT tenure.are_names(to_jsonb(tasks), {webhook_tasks.max}, {webhook_tasks.each})
        THEN 'a webhook is for all tasks, or for 1 to {webhook_tasks.max} named ones' END;
END $$;
