-- Grant a role the functions that a producer, a viewer, an operator or a worker needs.
CREATE OR REPLACE FUNCTION tenant.grant_verbs(role_name text, kind text) RETURNS text[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- The last two are what the view is made of: PostgreSQL asks its reader for them.
    looking CONSTANT text[] := ARRAY['show', 'list_jobs', 'explain', 'statistics', 'cancellation', 'cancellations', 'movements',
        'trail', 'kept', 'pools', 'workers', 'stops', 'ailments', 'server', 'cancellation_name', 'status'];
    granted CONSTANT text[] := CASE kind
        WHEN 'viewer' THEN looking
        WHEN 'producer' THEN ARRAY['enqueue', 'enqueue_many', 'queue', 'show', 'explain', 'kept']
        WHEN 'operator' THEN looking || ARRAY['stop', 'resume', 'clear', 'rerun', 'queue', 'pause', 'unpause', 'create_pool',
            'change_slots', 'release_slot', 'recover', 'drain']
        WHEN 'worker' THEN ARRAY['register', 'renew', 'leave', 'claim', 'held', 'finish', 'exchange', 'crash', 'release', 'report',
            'promote', 'recover', 'prune', 'stop', 'step', 'close_record', 'show', 'waiting_priority', 'end_session']
    END;
    verb    regprocedure;
BEGIN
    IF granted IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('a role is a producer, viewer, operator or worker; %L is none of these', kind);
    END IF;
    FOR verb IN
        SELECT p.oid FROM pg_proc AS p
        WHERE p.proname = ANY (granted) AND p.pronamespace IN (
            SELECT c.relnamespace FROM pg_class AS c WHERE c.oid IN ('tenant.job'::regclass, 'tenure.worker'::regclass))
          -- In the control schema only what belongs to all tenants, unless that is the tenant itself.
          AND (p.pronamespace = (SELECT c.relnamespace FROM pg_class AS c WHERE c.oid = 'tenant.job'::regclass)
               OR p.proname IN ('register', 'renew', 'leave', 'drain', 'workers', 'server', 'status'))
    LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I',
            (SELECT n.nspname FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace WHERE p.oid = verb), role_name);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', verb, role_name);
    END LOOP;
    IF kind IN ('viewer', 'operator') THEN
        EXECUTE format('GRANT SELECT ON tenant.jobs TO %I', role_name);
    END IF;
    RETURN granted;
EXCEPTION WHEN undefined_object THEN
    RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('there is no database role %L', role_name);
END $$;
