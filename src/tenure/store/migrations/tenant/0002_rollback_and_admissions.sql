-- A cancel may ask for a rollback; who was admitted is known, so that an upgrade keeps its rights.

-- It died, or its runner died with it and nobody knows whose fault it was: it runs with no neighbours.
-- A dead worker is nobody's fault.
ALTER TABLE tenant.job ADD COLUMN alone boolean NOT NULL DEFAULT false;

ALTER TABLE tenant.cancellation
    ADD COLUMN rollback boolean NOT NULL DEFAULT false,
    ADD COLUMN ask_for interval;       -- before code that was asked is interrupted; null: as its task says

CREATE TABLE tenant.admission (
    role_name text NOT NULL,
    kind      text NOT NULL,
    PRIMARY KEY (role_name, kind)
);
INSERT INTO tenant.admission (role_name, kind)
SELECT DISTINCT a.name, a.after ->> 'kind' FROM tenant.audit AS a WHERE a.verb = 'admit' AND a.subject = 'role';

-- The last report of each worker, so that one whose answer was lost can be said again.
CREATE TABLE tenant.reported (
    worker_id uuid PRIMARY KEY,
    number    bigint NOT NULL,
    answer    json
) WITH (fillfactor = 50);

DROP FUNCTION IF EXISTS tenant.report(uuid, jsonb);
DROP FUNCTION IF EXISTS tenant.stop(bigint, text, text, boolean, boolean, interval, tenure.rung, text, text);
DROP FUNCTION IF EXISTS tenant.ask_again(tenant.cancellation, boolean, interval, text, text, text);
