-- Refuse to look for a text among all jobs there are: no index helps, and it takes seconds for a million.
CREATE OR REPLACE FUNCTION tenant.refuse_text_alone(filter jsonb) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF filter ? 'text' AND filter - ARRAY['text', 'until'] = '{}' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = 'text alone would be looked for in all jobs; '
            'add another filter, such as since, status, queue, task or owner';
    END IF;
END $$;
