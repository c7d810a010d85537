-- Fail jobs that never ran, with a message for each.
CREATE OR REPLACE FUNCTION tenant.fail_pending(ids bigint[], now_ts timestamptz, kind text, messages jsonb)
RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
{index_scans} AS $$
DECLARE
    done    bigint[];
    parents bigint[];
    targets text[];
BEGIN
    IF coalesce(cardinality(ids), 0) = 0 THEN
        RETURN;
    END IF;
    WITH failed AS (
        UPDATE tenant.job AS j SET state = 'failed', ready = false, waiting = NULL, ended_at = now_ts,
            holds = j.holds AND j.blocks_failed, blocks = j.target IS NOT NULL AND j.blocks_failed
        WHERE j.id = ANY (ids) AND j.state = 'pending'
        RETURNING j.id, j.parent_id, j.target, j.holds
    ), kept AS (
        INSERT INTO tenant.outcome AS o (job_id, error, noted_at)
        SELECT f.id, jsonb_build_object('type', kind, 'message', messages ->> f.id::text), now_ts
        FROM failed AS f
        ON CONFLICT (job_id) DO UPDATE SET error = excluded.error, noted_at = excluded.noted_at
    )
    SELECT array_agg(f.id), array_agg(DISTINCT f.parent_id) FILTER (WHERE f.parent_id IS NOT NULL),
        array_agg(DISTINCT f.target) FILTER (WHERE f.target IS NOT NULL AND NOT f.holds)
    INTO done, parents, targets FROM failed AS f;
    PERFORM tenant.release_holds(done, done, parents, targets);
END $$;
