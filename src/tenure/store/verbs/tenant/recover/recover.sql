-- Declare late workers dead and recover their jobs: for another attempt, or failed, as each job's options
-- say.
--
-- Also jobs whose worker is unknown and so never beat, if they started longer ago than "orphan_after"; and,
-- if "pending_after" is set, ready jobs that were not started within it. With "ids" only these jobs are
-- recovered, with "dry_run" none. The error begins with "message", or else states what happened. A job that
-- cannot be recovered does not stop the sweep. A named caller ("by") is recorded in the audit log; the
-- sweeps of workers, which name nobody, are not.
CREATE OR REPLACE FUNCTION tenant.recover(
    grace interval DEFAULT '0', orphan_after interval DEFAULT '2 minutes',
    pending_after interval DEFAULT NULL, ids bigint[] DEFAULT NULL, dry_run boolean DEFAULT false,
    message text DEFAULT NULL, n integer DEFAULT 500,
    by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '1s' AS $$
DECLARE
    refusal  CONSTANT json := tenant.forbidden('recover', 'admin', 'tenant', '', by, via, role);
    declared json := '{}';
    orphans  jsonb;
    last     bigint := 0;
    seen     integer;
    answer   json;
    accepted jsonb := '[]';
    busy     jsonb := '[]';
    failed   jsonb := '[]';
    stale    bigint[];
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF NOT dry_run THEN
        declared := tenure.declare_dead(grace);
    END IF;
    LOOP
        SELECT jsonb_agg(o ORDER BY o ->> 'job'), max((o ->> 'job')::bigint), count(*)
        INTO orphans, last, seen
        FROM tenant.orphaned_jobs(last, grace, orphan_after, ids, dry_run, message,
            tenure.batch_size(n)) AS o;
        EXIT WHEN orphans IS NULL;
        IF dry_run THEN
            accepted := accepted || orphans;
        ELSE
            BEGIN
                answer := tenant.conclude(orphans, NULL, recovering => true);
            EXCEPTION WHEN OTHERS THEN
                answer := tenant.recover_each(orphans);
            END;
            busy := busy || (answer -> 'busy')::jsonb;
            failed := failed || coalesce((answer -> 'failed')::jsonb, '[]');
            accepted := accepted || tenant.note_recovered(orphans, answer -> 'accepted');
        END IF;
        EXIT WHEN seen < n;
    END LOOP;

    IF NOT dry_run THEN
        PERFORM tenant.delete_holds();
    END IF;
    IF pending_after IS NOT NULL THEN
        stale := tenant.stale_jobs(pending_after, ids, n);
        IF NOT dry_run THEN
            failed := failed || tenant.fail_stale(stale, pending_after, message);
        END IF;
    END IF;
    IF by IS NOT NULL AND NOT dry_run THEN
        PERFORM tenant.write_audit(tenure.actor(by), via, 'recover', 'tenant', '', NULL,
            jsonb_build_object('ids', to_jsonb(ids)),
            jsonb_build_object('recovered', accepted, 'stale', to_jsonb(coalesce(stale, '{}'))));
    END IF;
    RETURN json_build_object('dead', coalesce(declared -> 'dead', '[]'),
        'blind_until', declared -> 'blind_until',
        'recovered', accepted, 'busy', busy, 'failed', failed, 'stale', to_json(coalesce(stale, '{}')));
END $$;
