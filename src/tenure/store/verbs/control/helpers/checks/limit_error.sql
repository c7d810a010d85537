-- Return why this cannot be a limit, as a sentence; null if it can.
CREATE OR REPLACE FUNCTION tenure.limit_error(name text, rates jsonb, at_once integer) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF coalesce(length(name), 0) NOT BETWEEN 1 AND {limit.max} THEN
        RETURN 'a limit has a name of 1 to {limit.max} characters';
    ELSIF jsonb_typeof(rates) IS DISTINCT FROM 'object' OR (rates = '{}' AND at_once IS NULL) THEN
        RETURN 'a limit has rates such as {"calls": {"amount": 60, "per": "1m"}}, or a number at once, '
            'or both';
    ELSIF (SELECT count(*) FROM jsonb_object_keys(rates)) > {rates.max} THEN
        RETURN 'a limit counts at most {rates.max} units';
    ELSIF at_once NOT BETWEEN {at_once.min} AND {at_once.max} THEN
        RETURN 'a limit allows {at_once.min} to {at_once.max} at once';
    END IF;
    RETURN (SELECT format('the rate of %s takes an amount above 0, a length of time from a millisecond to '
                '36500 days and, if you like, a burst of 1 or more; %s is none', left(r.key, 100),
                left(r.value::text, 100))
        FROM jsonb_each(rates) AS r
        WHERE length(r.key) NOT BETWEEN 1 AND {unit.max} OR CASE WHEN jsonb_typeof(r.value) = 'object'
            AND jsonb_typeof(r.value -> 'amount') = 'number'
            AND jsonb_typeof(coalesce(r.value -> 'burst', 'null')) IN ('number', 'null')
            THEN (r.value ->> 'amount')::numeric NOT BETWEEN 0.000001 AND {amount.max}
                OR coalesce((r.value ->> 'burst')::numeric NOT BETWEEN 1 AND {amount.max},
                    (r.value ->> 'amount')::numeric < 1)
                OR coalesce(tenure.as_seconds(r.value -> 'per') NOT BETWEEN 0.001
                    AND extract(epoch FROM {grace.max}), true)
            ELSE true END
        ORDER BY r.key LIMIT 1);
END $$;
