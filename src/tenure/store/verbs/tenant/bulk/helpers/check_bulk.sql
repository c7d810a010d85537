-- Refuse a bulk operation whose options are not valid.
CREATE OR REPLACE FUNCTION tenant.check_bulk(
    intent text, reason text DEFAULT NULL, options tenure.stop_options DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    problem CONSTANT text := CASE
        WHEN intent IS NULL OR intent NOT IN ('cancel', 'pause', 'resume', 'rerun')
            THEN format(
                'many jobs are cancelled, paused, resumed or rerun (cancel, pause, resume, rerun); '
                '%L is none of these', intent)
        WHEN reason = '' THEN 'the reason is empty; leave it out instead'
        WHEN length(reason) > {reason.max} THEN 'the reason has at most {reason.max} characters'
        WHEN options.grace > {grace.max} OR options.ask_for > {ask_for.max}
            THEN 'grace and ask_for of a stop are at most 36500 days'
        WHEN options.grace < interval '0' OR options.ask_for < interval '0' OR options.last_rung = 'expired'
                OR (options.force AND options.last_rung < 'killed')
            THEN 'a stop has a grace of zero or more and ends at asked, interrupted, terminated '
                'or killed; a forced one kills'
        WHEN options.rollback AND intent = 'pause'
            THEN 'a pause is not rolled back, because the jobs continue later; cancel them instead' END;
BEGIN
    IF problem IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = problem;
    END IF;
END $$;
