-- Refuse to search for a text among all jobs: no index helps, and a million jobs take seconds.
CREATE OR REPLACE FUNCTION tenant.refuse_text_alone(filter jsonb) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF filter ? 'text' AND filter - ARRAY['text', 'until'] = '{}' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'text alone would be looked for in all jobs; '
            'add another filter, such as since, status, queue, task or owner';
    END IF;
END $$;
