-- Return the seconds in which all rates of a limit refill from nothing to their bursts, bounded to a length
-- of time that can be added to a timestamp.
CREATE OR REPLACE FUNCTION tenant.limit_refill(rates jsonb) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (SELECT least(extract(epoch FROM {grace.max}), coalesce(max((r.value ->> 'burst')::numeric
        * (r.value ->> 'per')::numeric / (r.value ->> 'amount')::numeric), 0))
    FROM jsonb_each(rates) AS r);
