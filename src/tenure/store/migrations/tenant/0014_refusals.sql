-- How often each principal was refused lately, so that refusals do not fill the audit trail.

CREATE TABLE tenant.refusal (
    actor    text PRIMARY KEY,
    since    timestamptz NOT NULL,     -- the first refusal of the current hour
    seen     bigint NOT NULL,          -- refusals in this hour
    audit_id bigint                    -- the audit row that counts those without a row of their own
);
