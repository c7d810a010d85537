-- The name of a record says whether its job was cancelled or paused. The view that shows it is made again by its verb.
DROP FUNCTION IF EXISTS tenant.cancellation_name(bigint) CASCADE;

-- When the stop was delivered to the worker, and when each rung of the ladder was reached.
ALTER TABLE tenant.member ADD COLUMN reached jsonb NOT NULL DEFAULT '{}';

DROP FUNCTION IF EXISTS tenant.resume(bigint, boolean, text, text, text, text);
