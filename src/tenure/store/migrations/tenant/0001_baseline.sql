-- The jobs of one tenant. The columns that change at every step of a job's life are narrow and in one
-- table; wide columns, and columns written once, are in tables next to it.

-- One counter for everything in a tenant that a worker should act on: jobs that become ready, wakes,
-- notices. Reading the counters of all tenants shows in which of them something has happened.
CREATE SEQUENCE tenant.activity;
CREATE SEQUENCE tenant.token;

-- Jobs

-- A queue, a task name and the pools such jobs draw from: the leading column of the claim index, so that
-- a reason that blocks many jobs excludes them at once. Not unique on purpose: two first jobs that are
-- enqueued at the same time must not wait for each other, and a claim reads every lane of its queues.
CREATE TABLE tenant.lane (
    id    integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text NOT NULL,
    task  text,                        -- null: jobs without code of their own
    pools text[] NOT NULL DEFAULT '{}',
    limited boolean NOT NULL DEFAULT false  -- its jobs name limits, which a claim asks first
);
CREATE INDEX lane_by_name ON tenant.lane (queue, task);

CREATE TABLE tenant.job (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    root_id         bigint NOT NULL,
    parent_id       bigint,
    position        bigint NOT NULL DEFAULT 0,  -- drawn when it becomes ready; kept when it is released
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
    holds           boolean NOT NULL DEFAULT false,  -- it holds its target
    blocks          boolean NOT NULL DEFAULT false,  -- its target is closed to others
    blocks_paused   boolean NOT NULL DEFAULT true,   -- block_on
    blocks_failed   boolean NOT NULL DEFAULT true,
    orphan_fails    boolean NOT NULL DEFAULT false,
    -- It crashed, or its runner crashed and any of its jobs may have caused that: run it without
    -- neighbours. The death of a worker is no job's fault.
    alone           boolean NOT NULL DEFAULT false,
    target          text,
    unique_key      text,              -- with the scope it belongs to: see scoped_key
    idempotency_key text,
    limits          text[],            -- its limits; first that for which it waits
    -- Every statement checks these again, at about 9 us each: keep them few and short.
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

CREATE INDEX job_ready ON tenant.job (lane, priority, position) WHERE ready;
CREATE INDEX job_held ON tenant.job (worker_id) WHERE state = 'running';
CREATE INDEX job_due ON tenant.job (run_at) WHERE waiting IN ('time', 'event', 'answer');
CREATE INDEX job_line ON tenant.job (target, priority DESC, id) WHERE waiting = 'target';
CREATE INDEX job_limit_line ON tenant.job ((limits[1]), priority DESC, position) WHERE waiting = 'limit';
CREATE INDEX job_blocking ON tenant.job (target) WHERE blocks;
CREATE INDEX job_failed_target ON tenant.job (target) WHERE target IS NOT NULL AND state = 'failed';
-- Each time a descendant ends, the open ones are found without reading those that have ended.
CREATE INDEX job_children ON tenant.job (parent_id, ended_at) WHERE parent_id IS NOT NULL;
CREATE INDEX job_stopping ON tenant.job (id) WHERE stop_id IS NOT NULL AND ended_at IS NULL;
-- Live jobs that are neither ready, running, due nor in a line. Most jobs never enter it.
CREATE INDEX job_aside ON tenant.job (lane)
    WHERE state = 'paused' OR waiting IN ('unqueued', 'promotion', 'dependencies', 'tasks', 'children');
-- The condition states the job's state twice so that the planner does not use it as an index of failed jobs.
CREATE INDEX job_over ON tenant.job (state, id) WHERE ended_at IS NOT NULL AND state <> 'completed';
CREATE INDEX job_ended ON tenant.job USING brin (ended_at) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX job_lanes ON tenant.job USING brin (lane int4_minmax_multi_ops)
    WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX job_targets ON tenant.job USING brin (target text_bloom_ops)
    WITH (pages_per_range = 32, autosummarize = on);
CREATE UNIQUE INDEX "single holder per target" ON tenant.job (target) WHERE holds;
CREATE UNIQUE INDEX "single live job per unique key" ON tenant.job (unique_key)
    WHERE unique_key IS NOT NULL AND state IN ('pending', 'running', 'paused');
CREATE UNIQUE INDEX "single job per idempotency key" ON tenant.job (idempotency_key)
    WHERE idempotency_key IS NOT NULL;

-- The input of a job: written once.
CREATE TABLE tenant.payload (
    job_id  bigint PRIMARY KEY,
    args    jsonb NOT NULL,
    options jsonb,                     -- for the worker: retry, timeout, grace, ...
    budget  jsonb,
    key     text,                      -- the name that users and sibling jobs know it by
    owner   text NOT NULL,
    tags    text[]
);
CREATE INDEX payload_key ON tenant.payload (key, job_id) WHERE key IS NOT NULL;
CREATE INDEX payload_owner ON tenant.payload (owner, job_id) WHERE owner NOT LIKE 'db:%';
CREATE INDEX payload_tags ON tenant.payload USING gin (tags) WHERE tags IS NOT NULL;

-- The output of a job.
CREATE TABLE tenant.outcome (
    job_id     bigint PRIMARY KEY,
    result     jsonb,
    result_artifact text,              -- the artifact that has the result, if that is large
    error      jsonb,
    checkpoint jsonb,
    resume_value jsonb,                -- what the last resume carries, until the job has kept it
    progress   jsonb,
    cleanup    jsonb,
    noted_at   timestamptz NOT NULL,
    checkpoints bigint,                -- their number; null: none
    checkpoint_at timestamptz,         -- the newest
    checkpoint_times timestamptz[]     -- some of them, evenly
) WITH (fillfactor = 80);
-- Jobs that left a resource open.
CREATE INDEX outcome_leak ON tenant.outcome (job_id)
    WHERE jsonb_typeof(cleanup -> 'failed') = 'array' AND cleanup -> 'failed' <> '[]';

-- Jobs whose task was not announced when they were enqueued, with the fields that the caller gave.
CREATE TABLE tenant.unannounced (
    job_id bigint PRIMARY KEY,
    task   text,                       -- null: nothing to do, because the job is paused or has ended
    given  jsonb NOT NULL
);
CREATE INDEX unannounced_by_task ON tenant.unannounced (task, job_id) WHERE task IS NOT NULL;

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

-- A job, a target, a record, a publication or a limit that promote must check after this commit.
CREATE TABLE tenant.wake (
    id      bigint PRIMARY KEY DEFAULT nextval('tenant.activity'),
    job_id  bigint,
    target  text,
    stop_id bigint,
    publication_id bigint,
    limit_name text,
    needed  bigint[],                  -- the dependencies of the job that have ended; null: check all
    CONSTRAINT "a wake names a job, a target, a stop, a publication or a limit"
        CHECK (num_nonnulls(job_id, target, stop_id, publication_id, limit_name) = 1)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX wake_job ON tenant.wake (id) WHERE job_id IS NOT NULL;
CREATE INDEX wake_target ON tenant.wake (id) WHERE target IS NOT NULL;
CREATE INDEX wake_stop ON tenant.wake (id) WHERE stop_id IS NOT NULL;
CREATE INDEX wake_publication ON tenant.wake (id) WHERE publication_id IS NOT NULL;
CREATE INDEX wake_limit ON tenant.wake (id) WHERE limit_name IS NOT NULL;

-- Attempts that did not complete the job at its first try.
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

-- Partial results and log lines are numbered together, so that one number says how far a reader has come.
-- The numbers of a job become visible in their order: one report of a job is written at a time.
CREATE SEQUENCE tenant.output;

CREATE TABLE tenant.partial (
    id       bigint PRIMARY KEY DEFAULT nextval('tenant.output'),
    job_id   bigint NOT NULL,
    token    bigint NOT NULL,
    at       timestamptz NOT NULL,
    value    jsonb NOT NULL,
    step     text                      -- in which it was emitted
);
CREATE INDEX partial_of_job ON tenant.partial (job_id, id);

-- What the code of a job did or waited for under a name: it is not done again by later attempts. A step is
-- written when it has ended; a wait when it begins. A job waits for one thing at a time.
CREATE TABLE tenant.job_step (
    job_id         bigint NOT NULL,
    name           text NOT NULL,      -- "read", "read#2" for the second call of that name, "read#2/parse"
    id             bigint GENERATED ALWAYS AS IDENTITY,  -- in the order of writing; also of a question
    kind           text NOT NULL DEFAULT 'step',
    digest         text NOT NULL,      -- of its arguments; a step with other arguments runs again
    value          jsonb,
    artifact       text,               -- the name of the artifact that holds the value, if that is large
    error          jsonb,
    spent          jsonb,
    attempts       integer NOT NULL DEFAULT 0,
    changes        integer NOT NULL DEFAULT 0,  -- how often it ran again because its arguments had changed
    started_at     timestamptz NOT NULL,
    ended_at       timestamptz,
    due_at         timestamptz,        -- of a wait
    timed_out      boolean NOT NULL DEFAULT false,
    event          text,
    key            text,
    publication_id bigint,             -- the event that ended the wait
    question       jsonb,              -- text, schema and role
    answered_by    text,
    PRIMARY KEY (job_id, name),
    CONSTRAINT "a step, or a wait for a time, an event or an answer"
        CHECK (kind IN ('step', 'sleep', 'event', 'question')
               AND (kind = 'event') = (event IS NOT NULL AND key IS NOT NULL)
               AND (kind = 'question') = (question IS NOT NULL) AND (kind <> 'step' OR ended_at IS NOT NULL))
);
CREATE UNIQUE INDEX "a job has a single open wait" ON tenant.job_step (job_id) WHERE ended_at IS NULL;
CREATE INDEX job_step_event ON tenant.job_step (event, key) WHERE ended_at IS NULL AND event IS NOT NULL;
CREATE INDEX job_step_question ON tenant.job_step (id) WHERE ended_at IS NULL AND question IS NOT NULL;

-- Events that were published for jobs that wait for them, now or within the retention.
CREATE TABLE tenant.publication (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name         text NOT NULL,
    key          text NOT NULL,
    payload      jsonb,
    published_at timestamptz NOT NULL,
    published_by text NOT NULL,
    expires_at   timestamptz NOT NULL
);
CREATE INDEX publication_by_name ON tenant.publication (name, key, id);
CREATE INDEX publication_expiry ON tenant.publication (expires_at);

CREATE TABLE tenant.log (
    id     bigint PRIMARY KEY DEFAULT nextval('tenant.output'),
    job_id bigint NOT NULL,
    at     timestamptz NOT NULL,
    level  text NOT NULL,
    line   text NOT NULL
);
CREATE INDEX log_of_job ON tenant.log (job_id, id);

-- The jobs whose output somebody follows now; reports of other jobs notify nobody.
CREATE TABLE tenant.reader (
    job_id bigint PRIMARY KEY,
    until  timestamptz NOT NULL        -- unless it is extended by then, nobody follows any more
);

CREATE TABLE tenant.artifact (
    job_id     bigint NOT NULL,
    name       text NOT NULL,
    url        text NOT NULL,
    size       bigint NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (job_id, name)
);

-- Stopped jobs whose artifacts are to be deleted, until a worker has deleted them.
CREATE TABLE tenant.discard (
    job_id   bigint PRIMARY KEY,
    tries    integer NOT NULL DEFAULT 0,
    tried_at timestamptz,
    error    text
);

-- The latest inspection of a job, until its attempt ends: one row per job, so that asking often is cheap.
CREATE TABLE tenant.inspection (
    job_id      bigint PRIMARY KEY,
    id          bigint GENERATED ALWAYS AS IDENTITY,  -- a new one for every request
    token       bigint NOT NULL,       -- of the attempt that is inspected
    asked_by    text NOT NULL,
    asked_at    timestamptz NOT NULL,
    answer      jsonb,
    answered_at timestamptz,
    CONSTRAINT "an answer has its time" CHECK ((answer IS NULL) = (answered_at IS NULL))
) WITH (fillfactor = 50);

-- The last report of each worker, so that a report whose answer was lost can be sent again.
CREATE TABLE tenant.reported (
    worker_id uuid PRIMARY KEY,
    number    bigint NOT NULL,
    answer    json
) WITH (fillfactor = 50);

-- Capacity

-- A row while a queue, a target, a pool, a schedule or the tenant is paused.
CREATE TABLE tenant.pause (
    subject   text NOT NULL,
    name      text NOT NULL,           -- '' for the tenant itself
    paused_at timestamptz NOT NULL,
    paused_by text NOT NULL,
    reason    text,
    PRIMARY KEY (subject, name),
    CONSTRAINT "queues, targets, pools, schedules and the tenant are paused"
        CHECK (subject IN ('queue', 'target', 'pool', 'schedule', 'tenant')
               AND (subject = 'tenant') = (name = ''))
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
    CONSTRAINT "held since a time" CHECK ((job_id IS NULL) = (held_at IS NULL))
);
CREATE INDEX slot_held ON tenant.slot (job_id) WHERE job_id IS NOT NULL;

-- How much of something may be done in an interval, and how many at once.
CREATE TABLE tenant.limit_rule (
    name       text PRIMARY KEY,       -- "openai", or a template with a key: "openai:{model}"
    pattern    text NOT NULL,          -- for LIKE: the names that it limits, each by itself
    rates      jsonb NOT NULL,         -- by unit: {"calls": {"amount": 60, "per": 60, "burst": 60}}
    at_once    integer,                -- grants in use; null: any number
    created_at timestamptz NOT NULL,
    created_by text NOT NULL
);

-- The state of each name that a rule limits; an advisory lock on the name protects it.
CREATE TABLE tenant.limit_state (
    name        text PRIMARY KEY,
    levels      jsonb NOT NULL DEFAULT '{}',  -- what was left of each unit; none: its burst
    refilled_at timestamptz NOT NULL,  -- when that was
    lined       boolean NOT NULL DEFAULT false,  -- jobs wait in its line
    due_at      timestamptz,           -- when the next of them may go; infinity: when a grant is returned
    called      bigint[] NOT NULL DEFAULT '{}'   -- jobs from the line that are ready: their place is kept
) WITH (fillfactor = 50);
CREATE INDEX limit_due ON tenant.limit_state (due_at) WHERE lined;

-- A limit, or one name of a template, that grants nothing until a time.
CREATE TABLE tenant.limit_closure (
    name      text PRIMARY KEY,
    until     timestamptz NOT NULL,
    closed_at timestamptz NOT NULL,
    closed_by text NOT NULL,
    reason    text
);

-- Grants in use. Each ends with its attempt at the latest.
CREATE TABLE tenant.limit_grant (
    job_id  bigint NOT NULL,
    number  bigint NOT NULL,           -- of the request in its attempt; 0: by the claim
    name    text NOT NULL,
    amounts jsonb NOT NULL,
    at      timestamptz NOT NULL,
    PRIMARY KEY (job_id, number, name)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
CREATE INDEX limit_grant_of_name ON tenant.limit_grant (name);

-- Budget reserved by running jobs: a row for the job and for each ancestor that has a budget of the unit.
CREATE TABLE tenant.reservation (
    job_id    bigint NOT NULL,         -- the job whose budget it is
    unit      text NOT NULL,
    holder_id bigint NOT NULL,         -- the job that reserved it
    number    bigint NOT NULL,         -- of the request in its attempt
    worker_id uuid NOT NULL,
    amount    numeric NOT NULL,
    PRIMARY KEY (job_id, unit, holder_id, number)
);
CREATE INDEX reservation_held ON tenant.reservation (holder_id);

-- Budget spent, one row per worker so that workers do not wait for one another.
CREATE TABLE tenant.spent (
    job_id    bigint NOT NULL,
    unit      text NOT NULL,
    worker_id uuid NOT NULL,
    amount    numeric NOT NULL,
    spent_at  timestamptz NOT NULL,    -- the newest report
    reports   bigint NOT NULL,         -- their number
    times     timestamptz[] NOT NULL,  -- some of them, evenly, with what was spent until then
    amounts   numeric[] NOT NULL,
    PRIMARY KEY (job_id, unit, worker_id)
) WITH (fillfactor = 70);

-- Stops

-- Named options of a stop.
CREATE TABLE tenant.strategy (
    name       text PRIMARY KEY,
    options    jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL
);
INSERT INTO tenant.strategy (name, options, created_at, created_by) VALUES
    ('graceful', '{}', clock_timestamp(), 'tenure'),
    ('patient', '{"last_rung": "interrupted"}', clock_timestamp(), 'tenure'),
    ('immediate', '{"force": true}', clock_timestamp(), 'tenure'),
    -- Ask for the whole of the grace, and only then interrupt.
    ('cooperative', '{"ask_for": 3153600000, "last_rung": "interrupted"}', clock_timestamp(), 'tenure');

-- The record of a stop; it outlives its job.
CREATE TABLE tenant.cancellation (
    id             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job_id         bigint NOT NULL,
    root_id        bigint NOT NULL,
    intent         text NOT NULL,
    reason         text NOT NULL,
    initiated_by   text NOT NULL,
    initiated_at   timestamptz NOT NULL,
    force          boolean NOT NULL,
    cascade        boolean NOT NULL,
    grace          interval,
    ask_for        interval,           -- before code that was asked is interrupted; null: the task's own
    last_rung      tenure.rung NOT NULL,
    preserve       boolean,            -- whether artifacts are kept; null: the task decides
    strategy       text,
    rollback       boolean NOT NULL DEFAULT false,
    rollback_tasks bigint[],           -- null: all of them, if there is a rollback
    rollback_jobs  bigint[] NOT NULL DEFAULT '{}',  -- the jobs that roll it back, one after the other
    status         text NOT NULL DEFAULT 'initiated',
    completed_at   timestamptz,
    error          text,
    tallied        boolean NOT NULL DEFAULT false,  -- counted in tally
    CONSTRAINT "a stop cancels or pauses" CHECK (intent IN ('cancel', 'pause')),
    CONSTRAINT "a record moves through its statuses" CHECK (status IN (
        'initiated', 'stopping_runners', 'updating_tasks', 'cleaning_resources',
        'completed', 'partial', 'failed')),
    CONSTRAINT "closed exactly when it has an end"
        CHECK ((status IN ('completed', 'partial', 'failed')) = (completed_at IS NOT NULL))
);
CREATE INDEX cancellation_of_job ON tenant.cancellation (job_id, id);
CREATE INDEX cancellation_open ON tenant.cancellation (id) WHERE completed_at IS NULL;
CREATE INDEX cancellation_untallied ON tenant.cancellation (id) WHERE NOT tallied;

-- The jobs that a stop reached.
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
    pids       integer[],              -- of the process tree that ended with it, at most 50
    processes  integer,                -- how many processes that tree had
    reached    jsonb NOT NULL DEFAULT '{}',  -- when the worker received the stop, and each rung's time
    PRIMARY KEY (stop_id, job_id),
    CONSTRAINT "a member that ended became something" CHECK ((ended_at IS NULL) = (became IS NULL))
);
-- Look members up by their job with "became IS NULL": "ended_at IS NULL" lets the planner read the index of
-- open members as a whole, which it believes to be empty.
CREATE INDEX member_of_job ON tenant.member (job_id);
-- Without deduplication, because an entry that stands for many rows is dead only when all of them are.
CREATE INDEX member_of_open ON tenant.member (stop_id) WITH (deduplicate_items = off)
    WHERE ended_at IS NULL;

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

-- A rule that stops jobs; docs/policies.md describes "spec".
CREATE TABLE tenant.policy (
    name       text PRIMARY KEY,
    spec       jsonb NOT NULL,
    enabled    boolean NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    whose      text,                   -- it stops only jobs of this owner; null: of every owner
    checked_at timestamptz,            -- the last check for jobs that it stops
    took       interval NOT NULL DEFAULT '0',  -- the duration of that check
    last_error text,                   -- of that check; null: none
    stopped    bigint NOT NULL DEFAULT 0
);

-- An operation on many jobs, which any worker continues batch by batch.
CREATE TABLE tenant.bulk (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    filter       jsonb NOT NULL,
    intent       text NOT NULL,
    options      jsonb NOT NULL,       -- of each stop
    reason       text,
    initiated_by text NOT NULL,
    via          text NOT NULL,
    whose        text,                 -- only jobs of this owner are changed; null: of every owner
    created_at   timestamptz NOT NULL,
    upto         bigint NOT NULL,      -- the newest job at that time; later ones are not touched
    above        bigint NOT NULL DEFAULT 0,  -- up to here everything is done
    total        bigint NOT NULL,      -- the jobs to change, counted at that time
    done         bigint NOT NULL DEFAULT 0,
    refused      bigint NOT NULL DEFAULT 0,  -- of other owners
    failed       bigint NOT NULL DEFAULT 0,
    status       text NOT NULL DEFAULT 'running',
    ended_at     timestamptz,
    error        text,                 -- the last one
    CONSTRAINT "a bulk operation cancels, pauses, resumes or reruns"
        CHECK (intent IN ('cancel', 'pause', 'resume', 'rerun')),
    CONSTRAINT "a bulk stop runs until it is completed, partial or failed"
        CHECK (status IN ('running', 'completed', 'partial', 'failed')
               AND (status = 'running') = (ended_at IS NULL))
);
CREATE INDEX bulk_open ON tenant.bulk (id) WHERE ended_at IS NULL;

-- Access and history

-- Database roles and what they were admitted as, so that an upgrade grants them the new verbs.
CREATE TABLE tenant.admission (
    role_name text NOT NULL,
    kind      text NOT NULL,
    PRIMARY KEY (role_name, kind)
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

-- How often each actor was refused in the last hour, so that refusals do not fill the audit log.
CREATE TABLE tenant.refusal (
    actor    text PRIMARY KEY,
    since    timestamptz NOT NULL,     -- the first refusal of the current hour
    seen     bigint NOT NULL,          -- refusals in this hour
    audit_id bigint                    -- the audit row that counts refusals without a row of their own
);

-- What Tenure itself did: refused writes, recoveries, failed sweeps.
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

-- Webhooks

-- Endpoints outside that are told what happens to jobs. Their secrets are returned when they are made, and
-- to workers, which sign with them.
CREATE TABLE tenant.webhook (
    name           text PRIMARY KEY,
    url            text NOT NULL,
    events         text[],             -- null: all
    tasks          text[],             -- only what happens to jobs of these tasks; null: of all
    secret         text NOT NULL,
    former_secret  text,               -- signs as well, until then
    former_until   timestamptz,
    created_at     timestamptz NOT NULL,
    created_by     text NOT NULL,
    disabled       text,               -- why nothing is sent to it; null: it is enabled
    failures       integer NOT NULL DEFAULT 0,  -- in a row
    failing_since  timestamptz,
    resumes_at     timestamptz         -- nothing is sent before; null: nothing holds it up
);

-- What a webhook is told: written in the transaction in which it happened, and kept until it is pruned.
CREATE TABLE tenant.delivery (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    webhook      text NOT NULL,        -- no foreign key: the end of a job never waits for it, or fails by it
    message      text NOT NULL,        -- the header webhook-id: the same at every attempt
    event        text NOT NULL,
    job_id       bigint,
    body         text NOT NULL,
    created_at   timestamptz NOT NULL,
    attempts     integer NOT NULL DEFAULT 0,
    due_at       timestamptz,          -- the next attempt; null: none
    until        timestamptz NOT NULL, -- no attempt begins later
    tried_at     timestamptz,
    delivered_at timestamptz,
    status       integer,              -- of the last response
    error        text                  -- of the last attempt
);
CREATE INDEX delivery_due ON tenant.delivery (webhook, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX delivery_of_webhook ON tenant.delivery (webhook, id);
CREATE INDEX delivery_over ON tenant.delivery (created_at) WHERE due_at IS NULL;

-- Metrics

-- Sums over closed records, which outlive the records.
CREATE TABLE tenant.tally (
    kind    text NOT NULL,
    labels  text[] NOT NULL,
    bucket  smallint NOT NULL,         -- by duration in seconds; see tally_bounds
    n       bigint NOT NULL,
    seconds double precision NOT NULL,
    PRIMARY KEY (kind, labels, bucket)
);

-- The jobs of the last day: how many ended and how, how long they waited and ran. Counts can be added over
-- buckets and queues. Durations are counted by bin, so that percentiles of any sum are known: see rollup_bin.
CREATE TABLE tenant.rollup (
    at    timestamptz NOT NULL,        -- the start of a bucket: five minutes; fifteen for a single queue
    queue text NOT NULL,               -- '': all of them
    kind  text NOT NULL,
    bin   smallint NOT NULL,
    n     bigint NOT NULL,
    PRIMARY KEY (at, queue, kind, bin),
    CONSTRAINT "ends are counted, and the times of those that ran"
        CHECK (kind IN ('completed', 'failed', 'cancelled', 'wait', 'run')
               AND (bin = 0 OR kind IN ('wait', 'run')))
) WITH (fillfactor = 70);

-- How far the rollups are, in one row.
CREATE TABLE tenant.rolled_up (
    only_row   boolean PRIMARY KEY DEFAULT true,
    until     timestamptz NOT NULL,    -- jobs that ended before this are counted
    settled   timestamptz NOT NULL,    -- no job with an earlier end can become visible any more
    checked_at timestamptz,
    marked_at timestamptz,             -- becomes settled
    marked_by xid8,                    -- when every transaction up to this one has ended
    CONSTRAINT "a single row" CHECK (only_row),
    CONSTRAINT "only what is settled is counted" CHECK (until <= settled),
    CONSTRAINT "a mark is a time and a transaction" CHECK ((marked_at IS NULL) = (marked_by IS NULL))
) WITH (fillfactor = 50);
