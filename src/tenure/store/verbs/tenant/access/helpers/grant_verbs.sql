-- Grant a role the functions that a producer, a viewer, an operator, an admin or a worker needs.
CREATE OR REPLACE FUNCTION tenant.grant_verbs(role_name text, kind text) RETURNS text[]
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    -- cancellation_name and status are used by the view: PostgreSQL checks the reader's right to call them.
    reading CONSTANT text[] := ARRAY['show', 'runners', 'list_jobs', 'job_rows', 'status_counts',
        'filter_values', 'job_with_key', 'explain', 'statistics',
        'totals', 'history', 'cancellation', 'cancellations', 'stop_summary', 'movements',
        'audit_log', 'job_output', 'stream', 'pools', 'workers', 'targets', 'strategies', 'policies', 'bulk',
        'bulks', 'bulk_preview', 'stops', 'diagnose',
        'server', 'principal', 'session_principal', 'log_in', 'log_in_by_code', 'create_login_code',
        'log_out', 'whoami', 'cancellation_name', 'status', 'tasks', 'steps', 'questions', 'limits',
        'pauses', 'leaks', 'task_runs', 'family', 'dependencies', 'newest_output',
        'scale'];
    own     CONSTANT text[] := ARRAY['enqueue', 'enqueue_many', 'queue', 'stop', 'resume', 'clear', 'rerun',
        'rollback', 'refuse',
        'set_policy', 'drop_policy', 'bulk_stop', 'bulk_resume', 'bulk_rerun', 'advance_bulk', 'inspect',
        'inspection', 'end_runner', 'answer', 'publish'];
    granted CONSTANT text[] := CASE kind
        WHEN 'viewer' THEN reading || ARRAY['refuse', 'answer']
        WHEN 'producer' THEN ARRAY['enqueue', 'enqueue_many', 'queue', 'show', 'job_with_key', 'explain',
            'job_output', 'stream', 'whoami', 'tasks', 'steps', 'publish']
        WHEN 'operator' THEN reading || own
        WHEN 'admin' THEN reading || own
        || ARRAY['pause_dispatch', 'resume_dispatch', 'create_pool', 'change_slots', 'release_slot',
            'recover', 'drain', 'step', 'close_record', 'prune', 'tenants', 'tokens', 'create_token',
            'revoke_token', 'set_strategy', 'drop_strategy', 'announce_tasks',
            'set_limit', 'drop_limit', 'close_limit', 'open_limit',
            'set_webhook', 'rotate_webhook', 'drop_webhook', 'test_webhook', 'redeliver', 'webhooks',
            'deliveries']
        WHEN 'worker' THEN ARRAY['register', 'renew', 'read_signals', 'leave', 'tenant_activity', 'sweep',
            'claim', 'held', 'finish', 'exchange', 'crash', 'release', 'report',
            'promote', 'recover', 'prune', 'stop', 'note_reached', 'close_record', 'fail_records', 'show',
            'waiting_priority',
            'end_session', 'completed', 'roll_up', 'enforce_policies', 'advance_bulk', 'discards',
            'discarded', 'answer_inspection', 'enqueue_reserved', 'announce', 'kept_steps', 'await_step',
            'due_webhooks', 'take_deliveries', 'record_deliveries']
    END;
    -- In the control schema only what all tenants share; verbs that act on all of them belong to the
    -- default tenant.
    shared  CONSTANT text[] := ARRAY['register', 'announce', 'renew', 'read_signals', 'leave',
        'tenant_activity', 'sweep', 'workers', 'server', 'status',
        'principal', 'session_principal', 'log_in', 'log_in_by_code', 'create_login_code', 'log_out',
        'newest_migrations'];
    verb    regprocedure;
BEGIN
    IF granted IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('a role is a producer, viewer, operator, admin or worker; %L is none of these',
                kind);
    END IF;
    FOR verb IN
        SELECT p.oid FROM pg_proc AS p
        WHERE p.proname = ANY (granted || 'newest_migrations'::text) AND p.pronamespace IN (
            SELECT c.relnamespace FROM pg_class AS c
            WHERE c.oid IN ('tenant.job'::regclass, 'tenure.worker'::regclass))
          AND (p.pronamespace = (SELECT c.relnamespace FROM pg_class AS c
              WHERE c.oid = 'tenant.job'::regclass)
               OR p.proname = ANY (shared))
    LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I',
            (SELECT n.nspname FROM pg_proc AS p JOIN pg_namespace AS n ON n.oid = p.pronamespace
                WHERE p.oid = verb), role_name);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %I', verb, role_name);
    END LOOP;
    IF kind IN ('viewer', 'operator', 'admin') THEN
        EXECUTE format('GRANT SELECT ON tenant.jobs TO %I', role_name);
    END IF;
    RETURN granted;
EXCEPTION WHEN undefined_object THEN
    RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE = format('there is no database role %L', role_name);
END $$;
