-- Return a filter whose times are timestamps, where they were given as a number of seconds ago.
CREATE OR REPLACE FUNCTION tenant.with_times(filter jsonb) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
RETURN tenure.with_timestamp(tenure.with_timestamp(filter, 'since', tenure.now(), true),
    'until', tenure.now(), true);
