-- End a dashboard session by its digest. Its token and the token's other sessions stay valid.
CREATE OR REPLACE FUNCTION tenure.log_out(session bytea) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM tenure.session AS s WHERE s.digest = log_out.session;
    RETURN json_build_object('ended', FOUND);
END $$;
