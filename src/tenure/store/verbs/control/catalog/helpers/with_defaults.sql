-- Return a job as a draft, with Tenure's defaults for missing fields.
CREATE OR REPLACE FUNCTION tenure.with_defaults(given jsonb) RETURNS tenure.draft
LANGUAGE sql STABLE
RETURN jsonb_populate_record(NULL::tenure.draft, '{"queue": "default", "args": {}, "priority": 0,
    "max_attempts": 4, "when_taken": "return", "orphan": "retry", "pools": [],
    "block_on": ["paused", "failed"]}'::jsonb || given);
