-- Return the seconds until these levels have refilled to what is needed; 0: they have it; null: they never
-- do, because it is more than the burst.
CREATE OR REPLACE FUNCTION tenant.limit_wait(rates jsonb, levels jsonb, needs jsonb) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT CASE WHEN bool_or((n.value #>> '{}')::numeric > (r.value ->> 'burst')::numeric) THEN NULL
        ELSE coalesce(max(greatest((n.value #>> '{}')::numeric - (levels ->> n.key)::numeric, 0)
            * (r.value ->> 'per')::numeric / (r.value ->> 'amount')::numeric), 0) END
    FROM jsonb_each(needs) AS n JOIN jsonb_each(rates) AS r ON r.key = n.key);
