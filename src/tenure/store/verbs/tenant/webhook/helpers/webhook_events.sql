-- Return the events that webhooks are told.
CREATE OR REPLACE FUNCTION tenant.webhook_events() RETURNS text[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ARRAY['job.completed', 'job.failed', 'job.cancelled', 'job.paused', 'job.question', 'stop.closed'];
