-- Return what the start of so many jobs needs of a limit: a call each, and something left of other units.
CREATE OR REPLACE FUNCTION tenant.job_needs(rates jsonb, jobs integer) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT coalesce(jsonb_object_agg(r.key, CASE r.key WHEN 'calls' THEN jobs ELSE 0.000000001 END), '{}')
    FROM jsonb_each(rates) AS r);
