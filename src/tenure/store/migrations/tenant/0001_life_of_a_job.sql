-- One tenant's jobs. What changes at every step of a job's life is narrow and in one table; what is
-- wide or written once stands beside it.

-- A queue, a task name and the pools such jobs draw from: the leading column of the claim index, so
-- that what blocks many jobs is left out at once. Not unique on purpose: two first jobs enqueued at
-- the same moment must not wait for each other, and a claim reads every lane of its queues anyway.
CREATE TABLE tenant.lane (
    id    integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text NOT NULL,
    task  text,                        -- null: jobs without code of their own
    pools text[] NOT NULL DEFAULT '{}'
);
CREATE INDEX lane_by_name ON tenant.lane (queue, task);

CREATE SEQUENCE tenant.turn;
CREATE SEQUENCE tenant.token;

CREATE TABLE tenant.job (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    root_id         bigint NOT NULL,
    parent_id       bigint,
    turn            bigint NOT NULL DEFAULT 0,  -- drawn when it becomes ready; kept when it is given back
    token           bigint NOT NULL DEFAULT 0,  -- drawn at every claim
    stop_id         bigint,            -- the cancellation record that governs it now
    run_at          timestamptz,       -- null: not queued yet
    created_at      timestamptz NOT NULL,
    started_at      timestamptz,
    ended_at        timestamptz,
    worker_id       uuid,
    lane            integer NOT NULL,
    state           tenure.state NOT NULL DEFAULT 'pending',
    waiting         tenure.reason,
    priority        smallint NOT NULL DEFAULT 0,
    attempt         smallint NOT NULL DEFAULT 0,
    max_attempts    smallint NOT NULL,
    crashes         smallint NOT NULL DEFAULT 0,
    ready           boolean NOT NULL DEFAULT false,
    holds           boolean NOT NULL DEFAULT false,  -- its target is taken by it
    blocks          boolean NOT NULL DEFAULT false,  -- its target is closed to others
    blocks_paused   boolean NOT NULL DEFAULT true,   -- block_on
    blocks_failed   boolean NOT NULL DEFAULT true,
    orphan_fails    boolean NOT NULL DEFAULT false,
    target          text,
    unique_key      text,
    idempotency_key text,
    -- Every statement reads these anew, at about 9 us each: few, and as short as they can be.
    CONSTRAINT "ready only when pending, else waiting for a named reason"
        CHECK (ready::integer + (waiting IS NOT NULL)::integer = (state = 'pending')::integer),
    CONSTRAINT "running exactly with a worker"
        CHECK ((state = 'running') = (worker_id IS NOT NULL)),
    CONSTRAINT "ended exactly when it has an end"
        CHECK ((state >= 'completed') = (ended_at IS NOT NULL)),
    CONSTRAINT "ready or running only while holding its target"
        CHECK (CASE WHEN target IS NULL THEN NOT blocks ELSE holds OR NOT (ready OR state = 'running') END
               AND (blocks OR NOT holds)),
    CONSTRAINT "no more attempts than allowed" CHECK (attempt BETWEEN 0 AND max_attempts)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

CREATE INDEX job_ready ON tenant.job (lane, priority, turn) WHERE ready;
CREATE INDEX job_held ON tenant.job (worker_id) WHERE state = 'running';
CREATE INDEX job_due ON tenant.job (run_at) WHERE waiting = 'time';
CREATE INDEX job_line ON tenant.job (target, priority DESC, id) WHERE waiting = 'target';
CREATE INDEX job_blocking ON tenant.job (target) WHERE blocks;
CREATE INDEX job_failed_target ON tenant.job (target) WHERE target IS NOT NULL AND state = 'failed';
CREATE INDEX job_children ON tenant.job (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX job_ended ON tenant.job USING brin (ended_at) WITH (pages_per_range = 32, autosummarize = on);
CREATE UNIQUE INDEX "one holder per target" ON tenant.job (target) WHERE holds;
CREATE UNIQUE INDEX "one live job per unique key" ON tenant.job (unique_key)
    WHERE unique_key IS NOT NULL AND state IN ('pending', 'running', 'paused');
CREATE UNIQUE INDEX "one job per idempotency key" ON tenant.job (idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- What was asked for: written once.
CREATE TABLE tenant.payload (
    job_id  bigint PRIMARY KEY,
    args    jsonb NOT NULL,
    options jsonb,                     -- what the worker needs to know: retry, timeout, grace, ...
    budget  jsonb,
    key     text,                      -- the name people and sibling tasks know it by
    owner   text NOT NULL,
    tags    text[]
);
CREATE INDEX payload_key ON tenant.payload (key, job_id) WHERE key IS NOT NULL;
CREATE INDEX payload_owner ON tenant.payload (owner, job_id) WHERE owner NOT LIKE 'db:%';
CREATE INDEX payload_tags ON tenant.payload USING gin (tags) WHERE tags IS NOT NULL;

-- What came of it.
CREATE TABLE tenant.outcome (
    job_id     bigint PRIMARY KEY,
    result     jsonb,
    error      jsonb,
    checkpoint jsonb,
    progress   jsonb,
    cleanup    jsonb,
    noted_at   timestamptz NOT NULL
) WITH (fillfactor = 80);

CREATE TABLE tenant.edge (
    job_id   bigint NOT NULL,
    needs_id bigint NOT NULL,
    policy   text NOT NULL DEFAULT 'wait',
    PRIMARY KEY (job_id, needs_id),
    CONSTRAINT "a job does not need itself" CHECK (job_id <> needs_id),
    CONSTRAINT "an edge waits, fails or runs when its need did not complete"
        CHECK (policy IN ('wait', 'fail', 'run'))
);
CREATE INDEX edge_needed ON tenant.edge (needs_id);

-- Something may have become claimable, or a record may be complete: promote looks after commit.
CREATE TABLE tenant.wake (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id  bigint,
    target  text,
    stop_id bigint,
    CONSTRAINT "a wake is about one thing" CHECK (num_nonnulls(job_id, target, stop_id) = 1)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX wake_job ON tenant.wake (id) WHERE job_id IS NOT NULL;
CREATE INDEX wake_target ON tenant.wake (id) WHERE target IS NOT NULL;
CREATE INDEX wake_stop ON tenant.wake (id) WHERE stop_id IS NOT NULL;

-- A row while a queue, a target, a pool or the tenant is paused.
CREATE TABLE tenant.pause (
    subject   text NOT NULL,
    name      text NOT NULL,           -- '' for the tenant itself
    paused_at timestamptz NOT NULL,
    paused_by text NOT NULL,
    reason    text,
    PRIMARY KEY (subject, name),
    CONSTRAINT "queues, targets, pools and the tenant are paused"
        CHECK (subject IN ('queue', 'target', 'pool', 'tenant') AND (subject = 'tenant') = (name = ''))
);

CREATE TABLE tenant.pool (
    name       text PRIMARY KEY,
    created_at timestamptz NOT NULL
);
CREATE TABLE tenant.slot (
    pool    text NOT NULL REFERENCES tenant.pool ON DELETE CASCADE,
    name    text NOT NULL,
    job_id  bigint,
    held_at timestamptz,
    PRIMARY KEY (pool, name),
    CONSTRAINT "held since a moment" CHECK ((job_id IS NULL) = (held_at IS NULL))
);
CREATE INDEX slot_held ON tenant.slot (job_id) WHERE job_id IS NOT NULL;

-- Spending, one row per worker so that workers do not wait for one another.
CREATE TABLE tenant.spent (
    job_id    bigint NOT NULL,
    unit      text NOT NULL,
    worker_id uuid NOT NULL,
    amount    numeric NOT NULL,
    PRIMARY KEY (job_id, unit, worker_id)
) WITH (fillfactor = 70);

CREATE TABLE tenant.cancellation (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id       bigint NOT NULL,
    root_id      bigint NOT NULL,        -- the record outlives the job
    intent       text NOT NULL,
    reason       text NOT NULL,
    initiated_by text NOT NULL,
    initiated_at timestamptz NOT NULL,
    force        boolean NOT NULL,
    cascade      boolean NOT NULL,
    grace        interval,
    last_rung    tenure.rung NOT NULL,
    status       text NOT NULL DEFAULT 'initiated',
    completed_at timestamptz,
    error        text,
    CONSTRAINT "a stop cancels or pauses" CHECK (intent IN ('cancel', 'pause')),
    CONSTRAINT "a record moves through its statuses" CHECK (status IN (
        'initiated', 'stopping_runners', 'updating_tasks', 'cleaning_resources',
        'completed', 'partial', 'failed')),
    CONSTRAINT "closed exactly when it has an end"
        CHECK ((status IN ('completed', 'partial', 'failed')) = (completed_at IS NOT NULL))
);
CREATE INDEX cancellation_of_job ON tenant.cancellation (job_id, id);
CREATE INDEX cancellation_open ON tenant.cancellation (id) WHERE completed_at IS NULL;

CREATE TABLE tenant.member (
    stop_id    bigint NOT NULL,
    job_id     bigint NOT NULL,
    was        tenure.state NOT NULL,
    became     tenure.state,
    worker_id  uuid,
    token      bigint,
    rung       tenure.rung,
    runner     text,
    slots      text[],
    ended_at   timestamptz,
    error      text,
    PRIMARY KEY (stop_id, job_id),
    CONSTRAINT "a member that ended became something" CHECK ((ended_at IS NULL) = (became IS NULL))
);
CREATE INDEX member_open ON tenant.member (job_id) WHERE ended_at IS NULL;
CREATE INDEX member_of_open ON tenant.member (stop_id) WHERE ended_at IS NULL;

CREATE TABLE tenant.step (
    stop_id      bigint NOT NULL,
    place        smallint NOT NULL,
    name         text NOT NULL,
    status       text NOT NULL DEFAULT 'pending',
    started_at   timestamptz,
    completed_at timestamptz,
    details      jsonb NOT NULL DEFAULT '{}',
    error        text,
    PRIMARY KEY (stop_id, name),
    CONSTRAINT "a step is pending, in progress, completed or failed"
        CHECK (status IN ('pending', 'in_progress', 'completed', 'failed'))
);

-- Attempts that ended other than completed the first time.
CREATE TABLE tenant.attempt (
    job_id     bigint NOT NULL,
    token      bigint NOT NULL,
    attempt    smallint NOT NULL,
    worker_id  uuid NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at   timestamptz NOT NULL,
    outcome    text NOT NULL,
    rung       tenure.rung,
    error      jsonb,
    PRIMARY KEY (job_id, token)
);

CREATE TABLE tenant.partial (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id   bigint NOT NULL,
    token    bigint NOT NULL,
    at       timestamptz NOT NULL,
    value    jsonb NOT NULL
);
CREATE INDEX partial_of_job ON tenant.partial (job_id, id);

CREATE TABLE tenant.log (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id bigint NOT NULL,
    at     timestamptz NOT NULL,
    level  text NOT NULL,
    line   text NOT NULL
);
CREATE INDEX log_of_job ON tenant.log (job_id, id);

CREATE TABLE tenant.artifact (
    job_id     bigint NOT NULL,
    name       text NOT NULL,
    url        text NOT NULL,
    size       bigint NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (job_id, name)
);

CREATE TABLE tenant.audit (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at      timestamptz NOT NULL,
    actor   text NOT NULL,
    via     text NOT NULL,
    verb    text NOT NULL,
    subject text NOT NULL,
    name    text NOT NULL,
    reason  text,
    before  jsonb,
    after   jsonb
);
CREATE INDEX audit_of_subject ON tenant.audit (subject, name, id);

-- What nobody asked for but everybody wants to know: refused writes, recoveries, failed sweeps.
CREATE TABLE tenant.event (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        timestamptz NOT NULL,
    kind      text NOT NULL,
    job_id    bigint,
    worker_id uuid,
    detail    jsonb NOT NULL
);
CREATE INDEX event_by_kind ON tenant.event (kind, id);
CREATE INDEX event_of_job ON tenant.event (job_id, id) WHERE job_id IS NOT NULL;
