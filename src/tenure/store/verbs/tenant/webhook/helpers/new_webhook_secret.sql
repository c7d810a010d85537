-- Return a new signing secret: 32 random bytes, as Standard Webhooks writes them.
CREATE OR REPLACE FUNCTION tenant.new_webhook_secret() RETURNS text
LANGUAGE sql VOLATILE SET search_path = pg_catalog, pg_temp AS $$
    SELECT 'whsec_' || encode(sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
        || uuid_send(gen_random_uuid())), 'base64');
$$;
