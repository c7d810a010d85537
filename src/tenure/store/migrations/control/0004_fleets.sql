-- One fleet for many tenants: whose jobs a worker runs, and where it has claimed any.

ALTER TABLE tenure.worker ADD COLUMN tenants text[];  -- null: every tenant

-- A worker has claimed jobs of this tenant, and may hold some. The row goes when it is dead and they are
-- recovered, so who looks for what the dead held does not look everywhere.
CREATE TABLE tenure.hold (
    worker_id uuid NOT NULL,
    tenant    text NOT NULL,
    PRIMARY KEY (tenant, worker_id)
);

DROP FUNCTION IF EXISTS tenure.register(uuid, text, integer, interval, text[]);
DROP FUNCTION IF EXISTS tenure.notify_idle(text[]);
