-- Jobs whose task nobody had announced when they were enqueued, with what was said of each.

CREATE TABLE tenant.unannounced (
    job_id bigint PRIMARY KEY,
    task   text,                       -- null: nothing is to be done, because it is paused or has ended
    said   jsonb NOT NULL
);
CREATE INDEX unannounced_by_task ON tenant.unannounced (task, job_id) WHERE task IS NOT NULL;

DROP FUNCTION IF EXISTS tenant.enqueue(jsonb, jsonb, text, text, text);
DROP FUNCTION IF EXISTS tenant.enqueue_many(jsonb, jsonb, text, text, text);
