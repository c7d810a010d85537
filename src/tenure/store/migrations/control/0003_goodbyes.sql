-- Goodbye is also said for a worker that was killed.

DROP FUNCTION IF EXISTS tenure.leave(uuid);
