-- What became of the jobs of the last day: how many ended and how, how long they waited and ran.

-- Counts that can be added up: over buckets, over queues, and to what came later. Times are counted by their
-- length, so that percentiles can be told of any sum; see rollup_bin.
CREATE TABLE tenant.rollup (
    at    timestamptz NOT NULL,        -- a bucket: five minutes from here, of one queue fifteen
    queue text NOT NULL,               -- '': all of them
    kind  text NOT NULL,
    bin   smallint NOT NULL,
    n     bigint NOT NULL,
    PRIMARY KEY (at, queue, kind, bin),
    CONSTRAINT "ends are counted, and the times of those that ran"
        CHECK (kind IN ('completed', 'failed', 'cancelled', 'wait', 'run') AND (bin = 0 OR kind IN ('wait', 'run')))
) WITH (fillfactor = 70);

-- How far they have come, in one row.
CREATE TABLE tenant.rolled_up (
    one       boolean PRIMARY KEY DEFAULT true,
    until     timestamptz NOT NULL,    -- what ended before this is counted
    settled   timestamptz NOT NULL,    -- no end before this can become visible any more
    looked_at timestamptz,
    marked_at timestamptz,             -- will be settled
    marked_by xid8,                    -- when every transaction up to this one is over
    CONSTRAINT "one row" CHECK (one),
    CONSTRAINT "only what is settled is counted" CHECK (until <= settled),
    CONSTRAINT "a mark is a moment and a transaction" CHECK ((marked_at IS NULL) = (marked_by IS NULL))
) WITH (fillfactor = 50);
