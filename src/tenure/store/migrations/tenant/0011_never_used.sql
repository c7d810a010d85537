-- A tenant in which nothing has ever happened has drawn no number, so that workers pass it by. The migration that
-- made wakes draw from the same counter had drawn one in each.
SELECT setval('tenant.turn', 1, false) FROM tenant.turn
WHERE last_value = 1 AND NOT EXISTS (SELECT FROM tenant.lane) AND NOT EXISTS (SELECT FROM tenant.wake)
  AND NOT EXISTS (SELECT FROM tenant.policy) AND NOT EXISTS (SELECT FROM tenant.bulk);
