-- The catalogue: what each task declares, so that a job is the same whichever way it is enqueued.

ALTER TYPE tenure.reason ADD VALUE IF NOT EXISTS 'task';  -- no worker has announced its task yet

CREATE TABLE tenure.task (
    name               text NOT NULL,
    tenant             text NOT NULL,  -- '': it was announced for all tenants
    digest             text NOT NULL,
    executor           text NOT NULL,
    doc                text,
    schema             jsonb,          -- of the arguments, as JSON Schema; null: they are not described
    defaults           jsonb NOT NULL, -- the fields of a job as the task declares them
    target             jsonb,          -- a template, in parts
    "unique"           jsonb,
    compensate         text,
    first_announced_at timestamptz NOT NULL,
    announced_at       timestamptz NOT NULL,
    PRIMARY KEY (name, tenant)
);

-- The tasks that the app of a worker has, each with its digest: {"jobs.crawl": "5f3a..."}.
CREATE TABLE tenure.serving (
    worker_id uuid PRIMARY KEY,
    tasks     jsonb NOT NULL
);

ALTER TYPE tenure.draft ADD ATTRIBUTE said jsonb;  -- what the caller said, if its task is not announced yet
