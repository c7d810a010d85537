-- What metrics are made of: sums over stops that are over, which outlive their records; and an index of the
-- jobs that are alive but neither ready nor running nor due nor in a line. Most jobs never stand in it.

CREATE TABLE tenant.tally (
    kind    text NOT NULL,
    labels  text[] NOT NULL,
    bucket  smallint NOT NULL,         -- of how many seconds it took; see tally_bounds
    n       bigint NOT NULL,
    seconds double precision NOT NULL,
    PRIMARY KEY (kind, labels, bucket)
);

ALTER TABLE tenant.cancellation ADD COLUMN tallied boolean NOT NULL DEFAULT false;
CREATE INDEX cancellation_untallied ON tenant.cancellation (id) WHERE NOT tallied;

CREATE INDEX job_aside ON tenant.job (lane)
    WHERE state = 'paused' OR waiting IN ('unqueued', 'promotion', 'dependencies', 'tasks', 'children');
