-- Return the values of a filter that takes several, each as an expression over $1, which is the filter.
CREATE OR REPLACE FUNCTION tenant.filter_terms(filter jsonb, name text) RETURNS text[]
LANGUAGE sql IMMUTABLE
RETURN CASE
    WHEN jsonb_typeof(filter -> name) = 'array'
        THEN ARRAY(SELECT format('$1 -> %L ->> %s', name, n)
            FROM generate_series(0, jsonb_array_length(filter -> name) - 1) AS n)
    ELSE ARRAY[format('$1 ->> %L', name)] END;
