-- Whether the caller is shown a worker that runs jobs of these tenants (null: of all): it has to see jobs
-- of one of them, or to run them.
CREATE OR REPLACE FUNCTION tenure.shows_worker(tenants text[]) RETURNS boolean
LANGUAGE sql STABLE
RETURN tenants IS NULL OR EXISTS (
    SELECT FROM tenure.tenant AS t WHERE t.name = ANY (tenants)
      AND has_function_privilege(session_user, to_regprocedure(format('%I.show(bigint)', t.schema)),
          'EXECUTE'));
