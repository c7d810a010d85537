-- Sessions of the page: each login has one of its own, so that logging out ends that one and no other.

CREATE TABLE tenure.session (
    digest     bytea PRIMARY KEY,      -- of what is in the browser's cookie
    bearer_id  bigint NOT NULL REFERENCES tenure.bearer (id) ON DELETE CASCADE,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT "a digest is a SHA-256" CHECK (octet_length(digest) = 32),
    CONSTRAINT "a session lasts" CHECK (expires_at > created_at)
);
CREATE INDEX session_of_bearer ON tenure.session (bearer_id, created_at);
