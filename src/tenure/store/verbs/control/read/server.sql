-- Return what PostgreSQL reports about itself: version, clock, connections, durability settings, and the
-- transaction that has been open longest, which holds back vacuum.
--
-- Of transactions of others, only those are visible that the owner of the schema may see.
CREATE OR REPLACE FUNCTION tenure.server() RETURNS json
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT json_build_object(
        'version', current_setting('server_version_num')::integer,
        'now', tenure.now(),
        'database', current_database(),
        'standby', pg_is_in_recovery(),
        'connections', (SELECT sum(d.numbackends) FROM pg_stat_database AS d),
        'max_connections', current_setting('max_connections')::integer - current_setting(
            'superuser_reserved_connections')::integer, 'fsync', current_setting('fsync')::boolean,
        'synchronous_commit', current_setting('synchronous_commit') <> 'off',
        'autovacuum', current_setting('autovacuum')::boolean,
        'oldest', (
            SELECT json_build_object('seconds', extract(epoch FROM clock_timestamp() - a.xact_start),
                'pid', a.pid,
                'name', coalesce(nullif(a.application_name, ''), a.usename),
                'idle', a.state LIKE 'idle in transaction%')
            FROM pg_stat_activity AS a
            WHERE a.datname = current_database() AND a.pid <> pg_backend_pid()
              AND a.backend_type = 'client backend'
              AND coalesce(a.backend_xmin, a.backend_xid) IS NOT NULL
            ORDER BY a.xact_start LIMIT 1));
$$;
