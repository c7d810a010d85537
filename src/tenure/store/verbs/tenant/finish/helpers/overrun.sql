-- Return which budget of this job or of an ancestor is exceeded, as a sentence; null: none is.
CREATE OR REPLACE FUNCTION tenant.overrun(job bigint) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
BEGIN
    RETURN (
        SELECT format('budget of %s %s exceeded: %s spent', b.value #>> '{}', b.key, s.amount)
        FROM unnest(overrun.job || tenant.ancestors(overrun.job)) AS up(id)
        CROSS JOIN LATERAL (SELECT p.budget FROM tenant.payload AS p WHERE p.job_id = up.id LIMIT 1) AS p
        CROSS JOIN LATERAL jsonb_each(CASE WHEN jsonb_typeof(p.budget) = 'object' THEN p.budget
            ELSE '{}' END) AS b
        CROSS JOIN LATERAL (SELECT sum(s.amount) AS amount FROM tenant.spent AS s
                            WHERE s.job_id = up.id AND s.unit = b.key) AS s
        WHERE CASE WHEN jsonb_typeof(b.value) = 'number' THEN s.amount > b.value::numeric ELSE false END
        ORDER BY up.id DESC, b.key LIMIT 1);
END $$;
