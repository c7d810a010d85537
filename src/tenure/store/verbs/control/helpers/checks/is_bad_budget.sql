-- Return whether this is not a valid budget of a job.
CREATE OR REPLACE FUNCTION tenure.is_bad_budget(budget jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF jsonb_typeof(budget) <> 'object' THEN
        RETURN true;
    END IF;
    RETURN (SELECT count(*) > {budget.max} OR coalesce(bool_or(length(b.key) NOT BETWEEN 1 AND {unit.max}
        OR jsonb_typeof(b.value) <> 'number'
        OR CASE WHEN jsonb_typeof(b.value) = 'number'
            THEN b.value::numeric NOT BETWEEN {amount.min} AND {amount.max} END), false)
                FROM jsonb_each(budget) AS b);
END $$;
