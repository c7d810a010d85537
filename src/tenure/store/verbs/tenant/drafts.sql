-- The jobs of a call with what they share and the defaults filled in.
CREATE OR REPLACE FUNCTION tenant.drafts(jobs jsonb, shared jsonb) RETURNS tenure.draft[]
LANGUAGE sql STABLE
RETURN ARRAY(
    SELECT j FROM jsonb_populate_recordset(
        jsonb_populate_record(NULL::tenure.draft, '{"queue": "default", "args": {}, "priority": 0,
            "max_attempts": 4, "when_taken": "return", "orphan": "retry", "pools": [],
            "block_on": ["paused", "failed"]}'::jsonb || shared), jobs) AS j);
