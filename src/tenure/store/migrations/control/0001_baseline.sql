-- The objects that all tenants share: tenants, workers and their signals, the catalogue of tasks, logins.

CREATE TYPE tenure.state AS ENUM ('pending', 'running', 'paused', 'completed', 'failed', 'cancelled');

-- Why a pending job is not ready.
CREATE TYPE tenure.reason AS ENUM (
    'unqueued',      -- created, but not queued yet
    'promotion',     -- just arrived; its dependencies and its parent have not been checked
    'dependencies',  -- a job it needs has not completed
    'time',          -- its time has not come
    'target',        -- it waits in its target's line
    'tasks',         -- it has no code of its own and waits for its children
    'children',      -- its code waits for its children without holding a worker
    'task',          -- no worker has announced its task yet
    'event',         -- its code waits for a published event without holding a worker
    'answer',        -- its code waits for the answer to a question without holding a worker
    'limit'          -- a limit has no room for it
);

-- How far a stop went, from a request to a kill; expired: the worker died first.
CREATE TYPE tenure.rung AS ENUM ('asked', 'interrupted', 'terminated', 'killed', 'expired');

-- How to stop a job; null: as the strategy says, or else the default.
CREATE TYPE tenure.stop_options AS (
    strategy       text,
    force          boolean,
    "cascade"      boolean,
    grace          interval,
    ask_for        interval,
    last_rung      tenure.rung,
    preserve       boolean,
    rollback       boolean,
    rollback_tasks bigint[]
);

-- A job to insert: the fields of one element that enqueue takes.
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
    limits       text[],
    tags         text[],
    key_scope    text,     -- owner: keys belong to the job's owner; tenant: to the whole tenant
    given        jsonb     -- the fields as the caller gave them, if the task is not announced yet
);

-- A lane and priority that has ready jobs.
CREATE TYPE tenure.ready_lane AS (
    priority smallint, lane integer, pools text[], limited boolean, since bigint
);

-- Lanes of one priority that a claim reads together, up to a position.
CREATE TYPE tenure.lane_group AS (
    priority smallint, pools text[], limited boolean, lanes integer[], since bigint[], until bigint
);

-- A limit that a transaction has locked, as it is now.
CREATE TYPE tenure.open_limit AS (
    name         text,
    locked       boolean,      -- false: another transaction has it
    at           timestamptz,  -- when it was locked
    known        boolean,      -- false: no rule limits this name
    rates        jsonb,
    levels       jsonb,        -- what is left of each unit
    at_once      integer,
    running      integer,      -- grants in use, if their number is limited
    closed_until timestamptz,
    lined        boolean,
    called       bigint[]
);

CREATE TABLE tenure.tenant (
    name       text PRIMARY KEY,
    schema     text NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    CONSTRAINT "a tenant's name is a plain lower-case word"
        CHECK (name ~ '^[a-z][a-z0-9_]{0,47}$')
);

-- Workers

CREATE TABLE tenure.worker (
    id            uuid PRIMARY KEY,
    host          text NOT NULL,
    pid           integer NOT NULL,
    lease         interval NOT NULL,
    queues        text[],               -- null: every queue
    tenants       text[],               -- null: every tenant
    registered_by text,                 -- the database role that may speak for it; null: any role
    started_at    timestamptz NOT NULL,
    beat_at       timestamptz NOT NULL,
    expires_at    timestamptz NOT NULL,
    draining_at   timestamptz,
    dead_at       timestamptz,          -- written once, never undone
    left_at       timestamptz,          -- unregistered, holding nothing
    idle          boolean NOT NULL DEFAULT false,  -- wanted more jobs than there were: notify it
    trouble       text,                 -- why it cannot start a runner; null: it can
    capacity      jsonb NOT NULL DEFAULT '{}',  -- how many jobs it runs at once, by executor
    run_times     jsonb NOT NULL DEFAULT '{}',  -- of its tasks, in seconds, as it measured them
    runners       jsonb NOT NULL DEFAULT '{}',  -- at its last beat, by id: tenant, kind, pid, job tokens
    ending        jsonb NOT NULL DEFAULT '{}',  -- runners that it was asked to end, by id, and how
    CONSTRAINT "a lease lasts" CHECK (lease > interval '0'),
    CONSTRAINT "only the dead are beyond their lease" CHECK (dead_at IS NULL OR dead_at >= expires_at)
);
CREATE INDEX worker_lease ON tenure.worker (expires_at) WHERE dead_at IS NULL AND left_at IS NULL;
CREATE INDEX worker_idle ON tenure.worker (id) WHERE idle AND dead_at IS NULL AND left_at IS NULL;

-- A worker has claimed jobs of this tenant and may still hold some. The row is deleted when the worker is
-- dead and its jobs are recovered, so recovery need not search every tenant.
CREATE TABLE tenure.hold (
    worker_id uuid NOT NULL,
    tenant    text NOT NULL,
    PRIMARY KEY (tenant, worker_id)
);

-- Orders to a worker about a job it holds, kept until the attempt ends. A notification makes delivery
-- fast; the renewal of the lease makes it certain.
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

-- The last sweep for dead workers, in one row. A sweep that finds itself late declares no worker dead.
CREATE TABLE tenure.last_sweep (
    only_row    boolean PRIMARY KEY DEFAULT true,
    swept_at    timestamptz NOT NULL,
    returned_at timestamptz NOT NULL DEFAULT '-infinity',  -- the last sweep that came late
    away        interval NOT NULL DEFAULT '0',             -- how long no sweep ran before it
    CONSTRAINT "a single row" CHECK (only_row)
);

-- The catalogue of tasks

-- The declaration of each task, so that a job gets the same options however it is enqueued.
CREATE TABLE tenure.task (
    name               text NOT NULL,
    tenant             text NOT NULL,  -- '': announced for all tenants
    digest             text NOT NULL,
    executor           text NOT NULL,
    doc                text,
    schema             jsonb,          -- JSON Schema of the arguments; null: not described
    defaults           jsonb NOT NULL, -- the fields of a job as the task declares them
    target             jsonb,          -- a template, in parts
    "unique"           jsonb,
    limits             jsonb,          -- a list of templates
    compensate         text,
    first_announced_at timestamptz NOT NULL,
    announced_at       timestamptz NOT NULL,
    PRIMARY KEY (name, tenant)
);

-- The tasks that a worker's app has, each with its digest: {"jobs.crawl": "5f3a..."}.
CREATE TABLE tenure.serving (
    worker_id uuid PRIMARY KEY,
    tasks     jsonb NOT NULL
);

-- Access

-- Bearer tokens: each acts as a named user of a tenant, with a role. Only its digest is stored.
CREATE TABLE tenure.bearer (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL,          -- the actor of every action that uses the token
    role       text NOT NULL,
    tenant     text NOT NULL,
    digest     bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    expires_at timestamptz,            -- null: it does not expire
    revoked_at timestamptz,
    revoked_by text,
    CONSTRAINT "a token is a viewer's, an operator's or an admin's"
        CHECK (role IN ('viewer', 'operator', 'admin')),
    CONSTRAINT "a digest is a SHA-256" CHECK (octet_length(digest) = 32),
    CONSTRAINT "a token lasts" CHECK (expires_at > created_at),
    CONSTRAINT "revoked by somebody" CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
);
CREATE INDEX bearer_of_tenant ON tenure.bearer (tenant, id);

-- Browser sessions: each login has its own, so that logging out ends no other session.
CREATE TABLE tenure.session (
    digest     bytea PRIMARY KEY,      -- of the browser's cookie
    bearer_id  bigint NOT NULL REFERENCES tenure.bearer (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT "a digest is a SHA-256" CHECK (octet_length(digest) = 32),
    CONSTRAINT "a session lasts" CHECK (expires_at > created_at)
);
CREATE INDEX session_of_bearer ON tenure.session (bearer_id, created_at);

-- Codes that log a browser in once, so that a link to the dashboard holds no token.
CREATE TABLE tenure.login_code (
    digest     bytea PRIMARY KEY,
    bearer_id  bigint NOT NULL REFERENCES tenure.bearer (id) ON DELETE CASCADE,
    expires_at timestamptz NOT NULL,
    CONSTRAINT "the digest of a code is a SHA-256" CHECK (octet_length(digest) = 32)
);
CREATE INDEX login_code_of_bearer ON tenure.login_code (bearer_id);
