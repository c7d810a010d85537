-- Why a worker cannot run jobs although it is alive.

ALTER TABLE tenure.worker ADD COLUMN trouble text;  -- no runner can be started, because of this; null: all is well

DROP FUNCTION IF EXISTS tenure.renew(uuid, jsonb);
