-- Policies and bulk stops as rows, artifacts that nobody wants any more, and how jobs are found by what they have in common.

-- A rule by which jobs are stopped; see docs/policies.md for what "spec" holds.
CREATE TABLE tenant.policy (
    name       text PRIMARY KEY,
    spec       jsonb NOT NULL,
    enabled    boolean NOT NULL,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    whose      text,                   -- it takes along only jobs of this owner; null: all
    checked_at timestamptz,            -- when somebody last looked for what it reaches
    took       interval NOT NULL DEFAULT '0',  -- that look
    last_error text,                   -- of that look; null: there was none
    stopped    bigint NOT NULL DEFAULT 0
);

-- A stop of many jobs, which goes on batch by batch whoever asked for it.
CREATE TABLE tenant.bulk (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    filter       jsonb NOT NULL,
    intent       text NOT NULL,
    options      jsonb NOT NULL,       -- of each stop
    reason       text,
    initiated_by text NOT NULL,
    via          text NOT NULL,
    whose        text,                 -- only jobs of this owner are stopped; null: all
    created_at   timestamptz NOT NULL,
    upto         bigint NOT NULL,      -- the newest job at that time; later ones are not touched
    above        bigint NOT NULL DEFAULT 0,  -- up to here all is done
    total        bigint NOT NULL,      -- to be stopped, at that time
    done         bigint NOT NULL DEFAULT 0,
    refused      bigint NOT NULL DEFAULT 0,  -- of other owners
    failed       bigint NOT NULL DEFAULT 0,
    status       text NOT NULL DEFAULT 'running',
    ended_at     timestamptz,
    error        text,                 -- the last one
    CONSTRAINT "a bulk stop cancels or pauses" CHECK (intent IN ('cancel', 'pause')),
    CONSTRAINT "a bulk stop runs until it is completed, partial or failed"
        CHECK (status IN ('running', 'completed', 'partial', 'failed') AND (status = 'running') = (ended_at IS NULL))
);
CREATE INDEX bulk_open ON tenant.bulk (id) WHERE ended_at IS NULL;

-- Jobs that were stopped and whose artifacts are to be deleted, until somebody has done it.
CREATE TABLE tenant.discard (
    job_id   bigint PRIMARY KEY,
    tries    integer NOT NULL DEFAULT 0,
    tried_at timestamptz,
    error    text
);

-- The first says its state in two ways so that nobody else takes it for an index of failed jobs by chance.
CREATE INDEX job_over ON tenant.job (state, id) WHERE ended_at IS NOT NULL AND state <> 'completed';
CREATE INDEX job_stopping ON tenant.job (id) WHERE stop_id IS NOT NULL AND ended_at IS NULL;
CREATE INDEX job_lanes ON tenant.job USING brin (lane int4_minmax_multi_ops) WITH (pages_per_range = 32, autosummarize = on);
