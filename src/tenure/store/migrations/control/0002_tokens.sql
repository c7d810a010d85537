-- Bearer tokens: who presents one is somebody of a tenant, with a role. Only the digest of it is kept.

CREATE TABLE tenure.bearer (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL,          -- who it stands for: the actor of what is done with it
    role       text NOT NULL,
    tenant     text NOT NULL,
    digest     bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    created_by text NOT NULL,
    expires_at timestamptz,            -- null: it does not expire
    revoked_at timestamptz,
    revoked_by text,
    CONSTRAINT "a token is a viewer's, an operator's or an admin's" CHECK (role IN ('viewer', 'operator', 'admin')),
    CONSTRAINT "a digest is a SHA-256" CHECK (octet_length(digest) = 32),
    CONSTRAINT "a token lasts" CHECK (expires_at > created_at),
    CONSTRAINT "revoked by somebody" CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
);
CREATE INDEX bearer_of_tenant ON tenure.bearer (tenant, id);

DROP FUNCTION IF EXISTS tenure.drain(uuid, text, text, text);
