-- Return why this JSON object cannot be read as a job, as the end of a sentence; null if it can.
--
-- It checks types; "validation_error" checks values. Without it PostgreSQL would convert an object to a
-- string, and a list of lists to a two-dimensional array.
--
-- A single path finds the fields to look at, and "draft_field_error" is not called if there are none.
-- PostgreSQL would prepare conditions in SQL again in every transaction, at several times the price.
CREATE OR REPLACE FUNCTION tenure.draft_type_error(job jsonb) RETURNS text
LANGUAGE sql STABLE
RETURN tenure.draft_field_error(nullif(jsonb_path_query_array(job, 'strict $.keyvalue() ? (
    @.value != null && (@.value.type() != "string" && @.key like_regex
            "^(task|queue|key|owner|unique|idempotency|target|key_scope|when_taken|orphan)$"
        || @.key like_regex "^(run_at|delay|priority|max_attempts|tags|pools|limits|block_on)$"))'), '[]'));
