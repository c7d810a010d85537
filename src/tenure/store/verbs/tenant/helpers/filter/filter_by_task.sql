-- Return the condition for jobs that wait for their task: by their ids, which the primary key has.
CREATE OR REPLACE FUNCTION tenant.filter_by_task() RETURNS text
LANGUAGE sql IMMUTABLE
RETURN '(j.id = ANY (ARRAY(SELECT u.job_id FROM tenant.unannounced AS u WHERE u.task IS NOT NULL)) '
    'AND j.waiting = ''task'')';
