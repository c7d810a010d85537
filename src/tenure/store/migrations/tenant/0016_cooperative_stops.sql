-- A stop that asks for the whole of its grace, and then interrupts. An own strategy of this name stays.
INSERT INTO tenant.strategy (name, options, created_at, created_by)
VALUES ('cooperative', '{"ask_for": 3153600000, "last_rung": "interrupted"}', clock_timestamp(), 'tenure')
ON CONFLICT (name) DO NOTHING;

-- The error of a job that nobody started begins with the message of the sweep.
DROP FUNCTION IF EXISTS tenant.fail_stale(bigint[], interval);
