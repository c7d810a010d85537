-- A worker belongs to the database role that registered it: nobody else speaks for it.

ALTER TABLE tenure.worker ADD COLUMN registered_by text;  -- null: before this was kept; anybody may speak for it

DROP FUNCTION IF EXISTS tenure.workers(boolean);
