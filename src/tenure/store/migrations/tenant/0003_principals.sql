-- Stops by named strategies, of which artifacts are kept or not, and with the rollback of named tasks.
-- Every verb that somebody asks for hears with which role.

ALTER TABLE tenant.cancellation
    ADD COLUMN preserve boolean,       -- whether artifacts are kept; null: as the task says
    ADD COLUMN strategy text,
    ADD COLUMN rollback_tasks bigint[],  -- null: all of them, if there is a rollback
    ADD COLUMN rollback_jobs bigint[] NOT NULL DEFAULT '{}';  -- what undoes it, one after the other

-- The rollbacks of before, which their records did not name.
UPDATE tenant.cancellation AS c SET rollback_jobs = r.jobs FROM (
    SELECT p.args ->> 'cancellation' AS name, array_agg(j.id ORDER BY j.id) AS jobs
    FROM tenant.job AS j JOIN tenant.lane AS l ON l.id = j.lane JOIN tenant.payload AS p ON p.job_id = j.id
    WHERE l.task = 'tenure.rollback' GROUP BY 1) AS r
WHERE r.name = 'cancel-' || lpad(to_hex(c.id), greatest(6, length(to_hex(c.id))), '0');

-- How to stop, under a name.
CREATE TABLE tenant.strategy (
    name       text PRIMARY KEY,
    options    jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL
);
INSERT INTO tenant.strategy (name, options, created_at, created_by) VALUES
    ('graceful', '{}', clock_timestamp(), 'tenure'),
    ('patient', '{"last_rung": "interrupted"}', clock_timestamp(), 'tenure'),
    ('immediate', '{"force": true}', clock_timestamp(), 'tenure');

DROP FUNCTION IF EXISTS tenant.enqueue(jsonb, jsonb, text, text);
DROP FUNCTION IF EXISTS tenant.enqueue_many(jsonb, jsonb, text, text);
DROP FUNCTION IF EXISTS tenant.queue(bigint, timestamptz, text, text);
DROP FUNCTION IF EXISTS tenant.stop(bigint, text, text, boolean, boolean, interval, tenure.rung, text, text, interval, boolean);
DROP FUNCTION IF EXISTS tenant.resume(bigint, boolean, text, text, text);
DROP FUNCTION IF EXISTS tenant.clear(bigint, text, text, text, text);
DROP FUNCTION IF EXISTS tenant.rerun(bigint, text, text, text);
DROP FUNCTION IF EXISTS tenant.pause(text, text, text, text, text);
DROP FUNCTION IF EXISTS tenant.unpause(text, text, text, text, text);
DROP FUNCTION IF EXISTS tenant.create_pool(text, text[], text, text);
DROP FUNCTION IF EXISTS tenant.change_slots(text, text[], text[], text, text);
DROP FUNCTION IF EXISTS tenant.release_slot(text, text, text, text, text);
DROP FUNCTION IF EXISTS tenant.recover(interval, interval, interval, bigint[], boolean, text, integer);
DROP FUNCTION IF EXISTS tenant.ask_again(tenant.cancellation, boolean, interval, boolean, text, text, text);
DROP FUNCTION IF EXISTS tenant.bear(tenure.draft, tenant.job, timestamptz, text, text);
DROP FUNCTION IF EXISTS tenant.reach(bigint, boolean);
DROP FUNCTION IF EXISTS tenant.enqueue_rollback(tenant.cancellation, text);
