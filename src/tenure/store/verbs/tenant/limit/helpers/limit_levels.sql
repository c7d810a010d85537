-- Return what is left of each unit at "now_ts", from what was left at "since". A clock that was set back
-- refills nothing.
CREATE OR REPLACE FUNCTION tenant.limit_levels(
    rates jsonb, levels jsonb, since timestamptz, now_ts timestamptz
) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
RETURN (SELECT coalesce(jsonb_object_agg(r.key, least((r.value ->> 'burst')::numeric,
        coalesce((levels ->> r.key)::numeric, (r.value ->> 'burst')::numeric) + trunc(
            greatest(extract(epoch FROM now_ts - since), 0) * (r.value ->> 'amount')::numeric
            / (r.value ->> 'per')::numeric, 9))), '{}')
    FROM jsonb_each(rates) AS r);
