-- List cancellation records, newest first.
CREATE OR REPLACE FUNCTION tenant.cancellations(n integer DEFAULT 10, skip integer DEFAULT 0) RETURNS json
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(json_agg(tenant.cancellation_report(c.id)), '[]') FROM (
        SELECT c.id FROM tenant.cancellation AS c ORDER BY c.id DESC
        LIMIT least(greatest(n, 0), 1000) OFFSET greatest(skip, 0)) AS c;
$$;
