-- Put a refusal on record and make the answer of it. It is an answer and not an error, so that the row
-- is committed.
CREATE OR REPLACE FUNCTION tenant.refused(verb text, subject text, name text, actor text, via text, why text) RETURNS json
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    PERFORM tenant.note(actor, via, 'refuse', subject, coalesce(name, ''), why, NULL, jsonb_build_object('verb', verb));
    RETURN json_build_object('forbidden', why);
END $$;
