-- A key is stored with whose it is (see scoped_key): its owner's, or Tenure's own. Those that are there belong
-- to the owner of their job, unless Tenure made them: for a child that was spawned, for a schedule, for a
-- resource that was left open, for what a rollback undoes.

WITH keyed AS (
    SELECT j.id, j.parent_id, j.unique_key, j.idempotency_key, p.owner, CASE
        WHEN starts_with(p.owner, 'schedule:') THEN length('db:' || current_user) || ':db:' || current_user
        WHEN octet_length(p.owner) <= 500 THEN length(p.owner) || ':' || p.owner
        ELSE 'sha256:' || encode(sha256(convert_to(p.owner, 'UTF8')), 'hex') END || ':' AS scope
    FROM tenant.job AS j JOIN tenant.payload AS p ON p.job_id = j.id
    WHERE j.unique_key IS NOT NULL OR j.idempotency_key IS NOT NULL
)
UPDATE tenant.job AS j SET
    unique_key = CASE WHEN k.unique_key = k.owner AND starts_with(k.owner, 'schedule:') THEN 'tenure:' ELSE k.scope END
        || k.unique_key,
    idempotency_key = CASE
        WHEN starts_with(k.idempotency_key, 'spawn:' || k.parent_id || ':')
            OR starts_with(k.owner, 'schedule:') AND starts_with(k.idempotency_key, k.owner || ':')
            OR k.idempotency_key ~ '^cleanup:[0-9]+:[0-9]+:' THEN 'tenure:' || k.idempotency_key
        WHEN k.idempotency_key ~ '^tenure\.undo [0-9]+$' AND (
            SELECT l.task FROM tenant.job AS u JOIN tenant.lane AS l ON l.id = u.lane WHERE u.id = k.parent_id) = 'tenure.rollback'
            THEN 'tenure:undo:' || split_part(k.idempotency_key, ' ', 2)
        ELSE k.scope || k.idempotency_key END
FROM keyed AS k WHERE k.id = j.id;

DROP FUNCTION IF EXISTS tenant.bear(tenure.draft, tenant.job, timestamptz, text, text, text);
