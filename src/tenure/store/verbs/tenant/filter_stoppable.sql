-- The condition for jobs that a stop of this intent still changes: alive, and not being stopped already as
-- it wants. What is only being asked, force still changes.
CREATE OR REPLACE FUNCTION tenant.filter_stoppable(intent text, force boolean) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE
    WHEN intent = 'pause' THEN format('j.state IN (''pending'', ''running'') AND s.intent IS NULL AND (j.ready OR j.state = ''running'' OR %s)', tenant.filter_idle())
    WHEN force THEN format('(s.intent IS DISTINCT FROM ''cancel'' OR NOT s.force) AND (j.ready OR j.state = ''running'' OR %s)', tenant.filter_idle())
    ELSE format('s.intent IS DISTINCT FROM ''cancel'' AND (j.ready OR j.state = ''running'' OR %s)', tenant.filter_idle()) END;
