-- Looks into running jobs, and the processes that were ended with a job that was stopped.

-- The latest look into a job, until its attempt ends: one row a job, so that asking often costs nothing.
CREATE TABLE tenant.look (
    job_id      bigint PRIMARY KEY,
    id          bigint GENERATED ALWAYS AS IDENTITY,  -- another one for every question
    token       bigint NOT NULL,       -- of the attempt that is looked into
    asked_by    text NOT NULL,
    asked_at    timestamptz NOT NULL,
    answer      jsonb,
    answered_at timestamptz,
    CONSTRAINT "an answer has its moment" CHECK ((answer IS NULL) = (answered_at IS NULL))
) WITH (fillfactor = 50);

ALTER TABLE tenant.member
    ADD COLUMN pids integer[],         -- of the tree that ended with it, at most 50 of them
    ADD COLUMN processes integer;      -- how many it had

DROP FUNCTION IF EXISTS tenant.kept(bigint, text, bigint, integer);
