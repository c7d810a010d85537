-- Whether something below a job is still open is asked each time something below it ends: found at once, and not
-- among all that have ended.
DROP INDEX tenant.job_children;
CREATE INDEX job_children ON tenant.job (parent_id, ended_at) WHERE parent_id IS NOT NULL;

-- Of a job that comes after thousands, only what has ended is looked at. A wake that names nothing means all of it.
ALTER TABLE tenant.wake ADD COLUMN needed bigint[];
DROP FUNCTION IF EXISTS tenant.gone(bigint[]);
DROP FUNCTION IF EXISTS tenant.settle_dependencies(bigint[], timestamptz);
