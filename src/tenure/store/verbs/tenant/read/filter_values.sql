-- Return up to n values of a filter that begin with a text, for completion: of queue, task, owner and key
-- any, of tag and target those of the newest 1,000 jobs.
CREATE OR REPLACE FUNCTION tenant.filter_values(name text, prefix text DEFAULT '', n integer DEFAULT 10)
RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    -- Each value is one probe of an index; a collation may have others between those with the prefix.
    probes CONSTANT text := 'WITH RECURSIVE v AS (
        (SELECT min(p.%1$I) AS value FROM tenant.payload AS p WHERE p.%1$I >= $1 AND %2$s)
        UNION ALL
        SELECT (SELECT min(p.%1$I) FROM tenant.payload AS p WHERE p.%1$I > v.value AND %2$s) FROM v
        WHERE v.value IS NOT NULL)
        SELECT ARRAY(SELECT v.value FROM v LIMIT 200)';
    newest CONSTANT bigint := (SELECT max(j.id) FROM tenant.job AS j) - 1000;
    known  text[];
BEGIN
    CASE name
        WHEN 'queue' THEN known := ARRAY(SELECT l.queue FROM tenant.lane AS l);
        WHEN 'task' THEN known := ARRAY(SELECT l.task FROM tenant.lane AS l);
        WHEN 'owner' THEN
            EXECUTE format(probes, 'owner', 'p.owner NOT LIKE ''db:%''') INTO known USING prefix;
        WHEN 'key' THEN EXECUTE format(probes, 'key', 'p.key IS NOT NULL') INTO known USING prefix;
        WHEN 'tag' THEN known := ARRAY(
            SELECT unnest(p.tags) FROM tenant.payload AS p WHERE p.job_id > newest);
        WHEN 'target' THEN known := ARRAY(SELECT j.target FROM tenant.job AS j WHERE j.id > newest);
        ELSE RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format(
            'values are known of queue, task, owner, key, tag and target, not of %L', name);
    END CASE;
    RETURN (SELECT coalesce(json_agg(k.value), '[]') FROM (
        SELECT DISTINCT v.value FROM unnest(known) AS v (value) WHERE starts_with(v.value, prefix)
        ORDER BY v.value LIMIT least(greatest(n, 1), 100)) AS k);
END $$;
