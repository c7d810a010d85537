-- Return why this cannot be announced as a task, as a sentence; null if it can.
CREATE OR REPLACE FUNCTION tenure.task_error(task jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    defaults CONSTANT jsonb := task -> 'defaults';
    problem  text;
BEGIN
    IF jsonb_typeof(task) <> 'object' OR jsonb_typeof(task -> 'name') IS DISTINCT FROM 'string'
            OR length(task ->> 'name') NOT BETWEEN 1 AND {task.max} THEN
        RETURN 'a task is announced as a JSON object with a name of 1 to {task.max} characters';
    ELSIF jsonb_typeof(task -> 'digest') IS DISTINCT FROM 'string'
            OR jsonb_typeof(task -> 'executor') IS DISTINCT FROM 'string'
            OR jsonb_typeof(defaults) IS DISTINCT FROM 'object' THEN
        RETURN format('task %L has no digest, executor or defaults', left(task ->> 'name', 100));
    ELSIF pg_column_size(task) > {announcement.max} THEN
        RETURN format('task %L is announced with more than {announcement.max} bytes',
            left(task ->> 'name', 100));
    END IF;
    problem := tenure.draft_type_error(defaults);
    IF problem IS NULL AND defaults - ARRAY['queue', 'priority', 'max_attempts', 'orphan', 'block_on',
        'pools', 'tags', 'budget', 'options'] <> '{}' THEN
        problem := 'has defaults that are not options of a task';
    END IF;
    problem := coalesce(problem,
        tenure.validation_error(tenure.with_defaults(defaults || jsonb_build_object('task', 'x'))),
        tenure.template_error(task -> 'target'), tenure.template_error(task -> 'unique'),
        tenure.limits_error(task -> 'limits'));
    RETURN CASE WHEN problem IS NOT NULL THEN format('task %L %s', left(task ->> 'name', 100), problem) END;
END $$;
