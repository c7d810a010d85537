-- Return the condition for a status: what tenure.status returns, in a form that indexes support, and
-- without a call for each job. Over job j, its cancellation s and its worker w.
CREATE OR REPLACE FUNCTION tenant.filter_status(status text) RETURNS text
LANGUAGE sql IMMUTABLE
RETURN CASE status
    WHEN 'cancelling' THEN 'j.stop_id IS NOT NULL AND j.ended_at IS NULL AND s.intent = ''cancel'''
    WHEN 'pausing'
        THEN 'j.stop_id IS NOT NULL AND j.ended_at IS NULL AND s.intent = ''pause'' AND j.state <> ''paused'''
    WHEN 'draining' THEN 'j.state = ''running'' AND s.intent IS NULL AND w.draining_at IS NOT NULL'
    WHEN 'running' THEN 'j.state = ''running'' AND s.intent IS NULL AND w.draining_at IS NULL'
    WHEN 'queued' THEN 'j.ready AND s.intent IS NULL'
    WHEN 'pending' THEN 'j.waiting = ''unqueued'' AND s.intent IS NULL'
    WHEN 'retrying' THEN 'j.waiting = ''time'' AND j.attempt > 0 AND s.intent IS NULL'
    WHEN 'scheduled' THEN 'j.waiting = ''time'' AND j.attempt <= 0 AND s.intent IS NULL'
    WHEN 'blocked' THEN 'j.waiting = ''target'' AND s.intent IS NULL'
    WHEN 'waiting' THEN format(
        '(j.waiting = ''limit'' OR '
        'j.waiting IN (''promotion'', ''dependencies'', ''tasks'', ''children'') '
        'OR j.waiting IN (''event'', ''answer'') OR %s) '
        'AND s.intent IS NULL', tenant.filter_by_task())
    WHEN 'paused' THEN 'j.state = ''paused'' AND s.intent IS DISTINCT FROM ''cancel'''
    WHEN 'completed' THEN 'j.state = ''completed'''
    WHEN 'failed' THEN 'j.state = ''failed'' AND j.ended_at IS NOT NULL'
    WHEN 'cancelled' THEN 'j.state = ''cancelled'' AND j.ended_at IS NOT NULL'
END;
