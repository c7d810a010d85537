-- Return the condition for jobs that a bulk operation of this intent changes. A stop: alive, and not
-- already being stopped in the same way; force still changes a job that is being stopped without it. A
-- resume: paused or failed. A rerun: ended, with code of its own.
CREATE OR REPLACE FUNCTION tenant.filter_reached(intent text, force boolean) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN CASE
        WHEN intent = 'resume' THEN format('((%s) OR (%s)) AND s.intent IS DISTINCT FROM ''cancel''',
            tenant.filter_status('paused'), tenant.filter_status('failed'))
        WHEN intent = 'rerun'
            THEN 'j.state IN (''completed'', ''failed'', ''cancelled'') AND j.ended_at IS NOT NULL AND '
            'EXISTS ('
            'SELECT FROM tenant.lane AS l WHERE l.id = j.lane AND l.task IS NOT NULL)'
        WHEN intent = 'pause' THEN format('j.state IN (''pending'', ''running'') AND s.intent IS NULL '
            'AND (j.ready OR j.state = ''running'' OR %s)', tenant.filter_idle())
        WHEN force THEN format('(s.intent IS DISTINCT FROM ''cancel'' OR NOT s.force) '
            'AND (j.ready OR j.state = ''running'' OR %s)', tenant.filter_idle())
        ELSE format('s.intent IS DISTINCT FROM ''cancel'' AND (j.ready OR j.state = ''running'' OR %s)',
            tenant.filter_idle()) END;
END $$;
