-- Codes that log a browser in once, so that a link to the page holds no token.

CREATE TABLE tenure.login_code (
    digest     bytea PRIMARY KEY,
    bearer_id  bigint NOT NULL REFERENCES tenure.bearer (id) ON DELETE CASCADE,
    expires_at timestamptz NOT NULL,
    CONSTRAINT "the digest of a code is a SHA-256" CHECK (octet_length(digest) = 32)
);
CREATE INDEX login_code_of_bearer ON tenure.login_code (bearer_id);
