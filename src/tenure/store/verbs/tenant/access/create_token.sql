-- Create a token: requests with it act in this name, with this role, in this tenant. Only its digest
-- (SHA-256) is passed and stored; a token cannot be read back.
--
-- In the default tenant tokens are created for any tenant ("of_tenant"), elsewhere for that tenant alone.
-- Names of database users, jobs, policies and schedules (db:, job:, policy:, schedule:) are reserved. A
-- lifetime of null means forever. All interfaces have the same defaults: a viewer, for 90 days.
CREATE OR REPLACE FUNCTION tenant.create_token(
    name text, token_role text DEFAULT 'viewer', digest bytea DEFAULT NULL,
    lifetime interval DEFAULT '90 days', of_tenant text DEFAULT NULL,
    by text DEFAULT NULL, via text DEFAULT 'sql', role text DEFAULT NULL
) RETURNS json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    now_ts  CONSTANT timestamptz := tenure.now();
    actor   CONSTANT text := tenure.actor(by);
    place   CONSTANT text := coalesce(of_tenant, '{tenant}');
    refusal CONSTANT json := tenant.forbidden('create_token', 'admin', 'token', name, by, via, role);
    made    json;
BEGIN
    IF refusal IS NOT NULL THEN
        RETURN refusal;
    ELSIF place <> '{tenant}' AND '{tenant}' <> 'default' THEN
        RETURN tenant.refused('create_token', 'token', name, actor, via,
            format('%s may not create a token of tenant %s; an admin of the default tenant may', actor,
                place));
    ELSIF coalesce(name, '') = '' OR length(name) > {token.max} OR name ~ '^(db|job|policy|schedule):'
        OR name ~ '[[:cntrl:]]' THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            'a token is for a name of 1 to {token.max} characters that does not begin with db:, job:, '
            'policy: or schedule:';
    ELSIF coalesce(token_role, '') NOT IN ('viewer', 'operator', 'admin') THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = format('a role is viewer, operator or admin; %L is none of these', token_role);
    ELSIF octet_length(digest) IS DISTINCT FROM 32 THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001',
            MESSAGE = 'the digest of a token is the 32 bytes of a SHA-256';
    ELSIF lifetime <= interval '0' OR lifetime > {token_lifetime.max} THEN
        RAISE EXCEPTION USING ERRCODE = 'TN001', MESSAGE =
            format('a token lasts for longer than 0 and up to 36500 days; %s is not', lifetime);
    ELSIF NOT EXISTS (SELECT FROM tenure.tenant AS t WHERE t.name = place) THEN
        RAISE EXCEPTION USING ERRCODE = 'TN006', MESSAGE = format('there is no tenant %L', place);
    END IF;
    INSERT INTO tenure.bearer AS k (name, role, tenant, digest, created_at, created_by, expires_at)
    VALUES (create_token.name, token_role, place, create_token.digest, now_ts, actor, now_ts + lifetime)
    RETURNING to_jsonb(k) - 'digest' INTO made;
    PERFORM tenant.write_audit(actor, via, 'create', 'token', made ->> 'id', NULL, NULL,
        jsonb_build_object('name', create_token.name, 'role', token_role, 'tenant', place,
            'expires_at', now_ts + lifetime));
    RETURN made;
EXCEPTION WHEN unique_violation THEN
    RAISE EXCEPTION USING ERRCODE = 'TN004',
        MESSAGE = 'there is a token with this digest already; draw a new one';
END $$;
