-- Announce what tasks declare without a worker: a step of a deployment, for admins.
--
-- For this tenant, or "everywhere" for all of them, which requires an admin of the default tenant.
CREATE OR REPLACE FUNCTION tenant.announce_tasks(
    tasks jsonb, everywhere boolean DEFAULT false, by text DEFAULT NULL, via text DEFAULT 'sql',
    role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    actor   CONSTANT text := tenure.actor(by);
    refusal json := tenant.forbidden('announce_tasks', 'admin', 'task', '', by, via, role);
BEGIN
    IF refusal IS NULL AND everywhere AND '{tenant}' <> 'default' THEN
        refusal := tenant.refused('announce_tasks', 'task', '', actor, via,
            format('%s may announce tasks for the tenant {tenant}; '
                'an admin of the default tenant may for all', actor));
    END IF;
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    END IF;
    PERFORM tenure.write_tasks(ARRAY[CASE WHEN everywhere THEN '' ELSE '{tenant}' END], tasks);
    PERFORM tenant.write_audit(actor, via, 'announce', 'task', t.value ->> 'name', NULL, NULL,
        jsonb_build_object('digest', t.value ->> 'digest', 'everywhere', everywhere))
    FROM jsonb_array_elements(tasks) AS t ORDER BY t.value ->> 'name';
    RETURN json_build_object('tasks', jsonb_array_length(tasks));
END $$;
