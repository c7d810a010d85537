-- Add two objects of amounts by unit; null counts as none.
CREATE OR REPLACE FUNCTION tenant.sum_amounts(earlier jsonb, more jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE
RETURN (SELECT jsonb_object_agg(u.unit, u.amount) FROM (
    SELECT e.key AS unit, sum(e.value::numeric) AS amount
    FROM (SELECT * FROM jsonb_each(earlier) UNION ALL SELECT * FROM jsonb_each(more)) AS e
    GROUP BY e.key) AS u);
