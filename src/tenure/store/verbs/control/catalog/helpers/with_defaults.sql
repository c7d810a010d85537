-- A job as a draft, with the defaults of Tenure in place of what is not said.
CREATE OR REPLACE FUNCTION tenure.with_defaults(said jsonb) RETURNS tenure.draft
LANGUAGE sql STABLE
RETURN jsonb_populate_record(NULL::tenure.draft, '{"queue": "default", "args": {}, "priority": 0,
    "max_attempts": 4, "when_taken": "return", "orphan": "retry", "pools": [],
    "block_on": ["paused", "failed"]}'::jsonb || said);
