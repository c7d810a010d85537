-- List what is paused, with who paused it, when and why: queues, targets, pools, schedules and the tenant.
CREATE OR REPLACE FUNCTION tenant.pauses() RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(json_agg(p ORDER BY p.subject, p.name), '[]') FROM tenant.pause AS p;
$$;
