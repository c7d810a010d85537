-- Return why these reports of running jobs are not valid, as a sentence; null if they are.
CREATE OR REPLACE FUNCTION tenant.report_error(reports jsonb) RETURNS text
LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pg_column_size(reports) > {outcomes.max} THEN
        RETURN 'reports of jobs have at most {outcomes.max} bytes per call';
    END IF;
    RETURN (SELECT CASE
        WHEN pg_column_size(r -> 'progress') > {progress.max}
            THEN 'progress takes at most {progress.max} bytes'
        WHEN pg_column_size(r -> 'checkpoint') > {value.max}
            THEN 'a checkpoint takes at most {value.max} bytes'
        WHEN tenure.json_error(r -> 'progress') IS NOT NULL
            THEN 'progress cannot be ' || tenure.json_error(r -> 'progress')
        WHEN tenure.json_error(r -> 'checkpoint') IS NOT NULL
            THEN 'a checkpoint cannot be ' || tenure.json_error(r -> 'checkpoint')
        WHEN EXISTS (SELECT FROM jsonb_array_elements(r -> 'partials') AS p
            WHERE tenure.json_error(p) IS NOT NULL)
            THEN 'a partial result is nested too deeply, or has a number that no reader can take'
        WHEN EXISTS (SELECT FROM jsonb_array_elements(r -> 'partials') AS p
            WHERE pg_column_size(p) > {value.max})
            THEN 'a partial result takes at most {value.max} bytes'
        WHEN EXISTS (SELECT FROM jsonb_array_elements(r -> 'steps') AS s WHERE tenant.is_bad_step(s))
            THEN 'a step has a name of 1 to {step.max} characters, a digest, a value of at most {value.max} '
                'bytes that every reader of JSON can take, attempts, and the seconds it took'
        WHEN EXISTS (SELECT FROM jsonb_array_elements(r -> 'asks') AS a
                WHERE tenant.is_bad_request(a) OR a ?| ARRAY['used', 'retry_after'])
            THEN 'a request has a number from 1 on, and is for a grant of a named limit, with one call or '
                'more, or for a reservation; amounts are numbers from 0 to 1e18'
        WHEN EXISTS (SELECT FROM jsonb_array_elements(r -> 'settled') AS s
                WHERE tenant.is_bad_request(s) OR NOT s ?| ARRAY['used', 'retry_after'])
            THEN 'a request ends with what was used, as numbers from 0 to 1e18, or is throttled for 0 to '
                '86400 seconds'
        WHEN EXISTS (SELECT FROM jsonb_array_elements(r -> 'logs') AS l
                WHERE jsonb_typeof(l -> 'line') IS DISTINCT FROM 'string'
                   OR length(l ->> 'line') > {log_line.max} OR length(l ->> 'level') > {log_level.max}
                   OR (l ->> 'at')::timestamptz NOT BETWEEN {run_at.earliest} AND {run_at.latest})
            THEN 'a log line has at most {log_line.max} characters, a level of at most {log_level.max} and '
                'a time in the years 1970 to 9999'
        WHEN EXISTS (SELECT FROM jsonb_array_elements(r -> 'artifacts') AS a
                WHERE coalesce(length(a ->> 'name') NOT BETWEEN 1 AND {artifact.max}, true)
                   OR coalesce(length(a ->> 'url') NOT BETWEEN 1 AND {artifact_url.max}, true)
                   OR NOT coalesce(a ->> 'size' ~ '^[0-9]{1,18}$', false))
            THEN 'an artifact has a name of 1 to {artifact.max} characters, an address of 1 to '
                '{artifact_url.max} and a size'
        WHEN EXISTS (SELECT FROM jsonb_object_keys(
                    CASE WHEN jsonb_typeof(r -> 'spent') = 'object' THEN r -> 'spent' END) AS k
                WHERE length(k) NOT BETWEEN 1 AND {unit.max})
            THEN 'what is counted has a name of 1 to {unit.max} characters' END AS wrong
    FROM jsonb_array_elements(reports) AS r ORDER BY wrong LIMIT 1);
END $$;
