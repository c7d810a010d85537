-- The runners of each worker, so that those of a job can be listed and one can be ended by its id.
ALTER TABLE tenure.worker
    ADD COLUMN runners jsonb NOT NULL DEFAULT '{}',  -- at its last beat, by id: tenant, kind, pid, and the tokens of its jobs
    ADD COLUMN ending  jsonb NOT NULL DEFAULT '{}';  -- those that it was asked to end, by id, and how

DROP FUNCTION IF EXISTS tenure.renew(uuid, jsonb, text);
