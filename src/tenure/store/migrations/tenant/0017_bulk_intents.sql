-- An operation on many jobs also resumes them or enqueues them again.

ALTER TABLE tenant.bulk DROP CONSTRAINT "a bulk stop cancels or pauses";
ALTER TABLE tenant.bulk ADD CONSTRAINT "a bulk operation cancels, pauses, resumes or reruns"
    CHECK (intent IN ('cancel', 'pause', 'resume', 'rerun'));

DROP FUNCTION IF EXISTS tenant.stop_in_bulk(tenant.bulk, bigint);
DROP FUNCTION IF EXISTS tenant.filter_stoppable(text, boolean);
