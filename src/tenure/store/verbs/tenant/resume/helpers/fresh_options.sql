-- Return the options of a job for a rerun of it: a deadline is again as long after the enqueue as it was.
CREATE OR REPLACE FUNCTION tenant.fresh_options(options jsonb, created_at timestamptz) RETURNS jsonb
LANGUAGE sql STABLE
RETURN CASE
    WHEN options ->> 'deadline' IS NULL OR NOT tenure.is_timestamp(options ->> 'deadline') THEN options
    ELSE options || jsonb_build_object('deadline',
        greatest(extract(epoch FROM (options ->> 'deadline')::timestamptz - created_at), 0.001)) END;
