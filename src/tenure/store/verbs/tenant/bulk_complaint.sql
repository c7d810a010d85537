-- Refuse a bulk stop that cannot be one, with a sentence.
CREATE OR REPLACE FUNCTION tenant.bulk_complaint(
    intent text, reason text DEFAULT NULL, grace interval DEFAULT NULL, ask_for interval DEFAULT NULL,
    last_rung tenure.rung DEFAULT NULL, force boolean DEFAULT NULL, rollback boolean DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    problem CONSTANT text := CASE
        WHEN intent IS NULL OR intent NOT IN ('cancel', 'pause') THEN format('a stop cancels or pauses; %L is neither', intent)
        WHEN reason = '' THEN 'the reason of a stop is empty; leave it out instead'
        WHEN grace < interval '0' OR ask_for < interval '0' OR last_rung = 'expired' OR (force AND last_rung < 'killed')
            THEN 'a stop has a grace of zero or more and ends at asked, interrupted, terminated or killed; a forced one kills'
        WHEN rollback AND intent = 'pause' THEN 'a pause is not rolled back, because the jobs go on later; cancel them instead' END;
BEGIN
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = problem;
    END IF;
END $$;
