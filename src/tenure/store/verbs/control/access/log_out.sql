-- End a session of the page, by its digest. Its token and the other sessions of it stay as they are.
CREATE OR REPLACE FUNCTION tenure.log_out(session bytea) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM tenure.session AS s WHERE s.digest = log_out.session;
    RETURN json_build_object('ended', FOUND);
END $$;
