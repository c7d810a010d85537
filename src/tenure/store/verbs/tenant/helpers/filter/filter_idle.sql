-- Return the condition for jobs that are alive but neither ready nor running. Each part of it has an index.
CREATE OR REPLACE FUNCTION tenant.filter_idle() RETURNS text
LANGUAGE sql IMMUTABLE
RETURN 'j.waiting IN (''time'', ''event'', ''answer'') OR j.waiting = ''target'' '
    'OR j.waiting = ''limit'' OR j.state = ''paused'' OR '
    'j.waiting IN (''unqueued'', ''promotion'', ''dependencies'', ''tasks'', ''children'') OR '
        || tenant.filter_by_task();
