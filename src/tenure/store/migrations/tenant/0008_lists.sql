-- Jobs of a target that are over are found by which pages may hold some; it costs next to nothing to keep.
CREATE INDEX job_targets ON tenant.job USING brin (target text_bloom_ops) WITH (pages_per_range = 32, autosummarize = on);
