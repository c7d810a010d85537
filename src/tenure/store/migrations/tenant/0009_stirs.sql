-- Whatever happens in a tenant that a worker should look at draws from one counter: jobs that become ready,
-- wakes, notices. So a look at the counters of all tenants finds those in which something has happened.

SELECT setval('tenant.turn', greatest((SELECT last_value FROM tenant.turn), (SELECT max(w.id) FROM tenant.wake AS w)));
ALTER TABLE tenant.wake ALTER COLUMN id DROP IDENTITY, ALTER COLUMN id SET DEFAULT nextval('tenant.turn');

-- Also of those who hold nothing yet: they may claim before they hear of this.
INSERT INTO tenure.hold (worker_id, tenant)
SELECT j.worker_id, '{tenant}' FROM tenant.job AS j WHERE j.state = 'running' AND j.worker_id IS NOT NULL
UNION SELECT w.id, '{tenant}' FROM tenure.worker AS w WHERE w.dead_at IS NULL;
