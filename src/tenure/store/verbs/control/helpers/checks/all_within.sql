-- Return whether no string of this JSON list is longer than "longest".
CREATE OR REPLACE FUNCTION tenure.all_within(texts jsonb, longest integer) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN NOT EXISTS (SELECT FROM jsonb_array_elements_text(texts) AS t WHERE length(t) > longest);
END $$;
