-- What all tenants share: who works, who the tenants are, and what workers must hear.

CREATE TYPE tenure.state AS ENUM ('pending', 'running', 'paused', 'completed', 'failed', 'cancelled');

-- Why a pending job is not ready.
CREATE TYPE tenure.reason AS ENUM (
    'unqueued',      -- created, but nobody has queued it yet
    'promotion',     -- just arrived; its dependencies and its parent have not been looked at
    'dependencies',  -- a job it needs has not completed
    'time',          -- its time has not come
    'target',        -- it stands in its target's line
    'tasks',         -- it has no code of its own and waits for its tasks
    'children'       -- its code waits for its children without holding a worker
);

CREATE TYPE tenure.rung AS ENUM ('asked', 'interrupted', 'terminated', 'killed', 'expired');

CREATE TABLE tenure.tenant (
    name       text PRIMARY KEY,
    schema     text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    CONSTRAINT "a tenant's name is a plain lower-case word"
        CHECK (name ~ '^[a-z][a-z0-9_]{0,47}$')
);

CREATE TABLE tenure.worker (
    id          uuid PRIMARY KEY,
    host        text NOT NULL,
    pid         integer NOT NULL,
    lease       interval NOT NULL,
    queues      text[],               -- null: every queue
    started_at  timestamptz NOT NULL,
    beat_at     timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    draining_at timestamptz,
    dead_at     timestamptz,          -- written once, never undone
    left_at     timestamptz,          -- said goodbye, holding nothing
    idle        boolean NOT NULL DEFAULT false,  -- asked for more than there was; wants a notice
    CONSTRAINT "a lease lasts" CHECK (lease > interval '0'),
    CONSTRAINT "only the dead are beyond their lease" CHECK (dead_at IS NULL OR dead_at >= expires_at)
);

CREATE INDEX worker_lease ON tenure.worker (expires_at) WHERE dead_at IS NULL AND left_at IS NULL;
CREATE INDEX worker_idle ON tenure.worker (id) WHERE idle AND dead_at IS NULL AND left_at IS NULL;

-- What a worker must hear about a job it holds, until the attempt ends. A notice makes it fast,
-- the renewal of the lease makes it certain.
CREATE TABLE tenure.signal (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    worker_id  uuid NOT NULL,
    tenant     text NOT NULL,
    job_id     bigint NOT NULL,
    token      bigint NOT NULL,
    orders     jsonb NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE INDEX signal_for_worker ON tenure.signal (worker_id, id);
CREATE INDEX signal_for_job ON tenure.signal (tenant, job_id);

-- When somebody last looked for the dead. A sweep that finds itself late declares nobody dead.
CREATE TABLE tenure.watch (
    alone       boolean PRIMARY KEY DEFAULT true CHECK (alone),
    swept_at    timestamptz NOT NULL,
    returned_at timestamptz NOT NULL DEFAULT '-infinity',  -- when a sweep found nobody had swept
    away        interval NOT NULL DEFAULT '0'              -- for this long
);

-- A job as it arrives: the fields of one element of what enqueue takes.
CREATE TYPE tenure.draft AS (
    key          text,
    task         text,
    queue        text,
    args         jsonb,
    priority     smallint,
    run_at       timestamptz,
    delay        interval,
    owner        text,
    "unique"     text,
    when_taken   text,
    idempotency  text,
    target       text,
    block_on     text[],
    parent       jsonb,
    after        jsonb,
    max_attempts smallint,
    orphan       text,
    options      jsonb,
    budget       jsonb,
    pools        text[],
    tags         text[]
);

-- A lane and priority with something to claim in it.
CREATE TYPE tenure.place AS (priority smallint, lane integer, pools text[], since bigint, head bigint);

-- Lanes of one priority that a claim takes from together, up to somebody else's turn.
CREATE TYPE tenure.opening AS (
    priority smallint, pools text[], lanes integer[], since bigint[], head bigint, until bigint
);
