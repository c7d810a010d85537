-- Return whether the caller may see a worker that runs jobs of these tenants (null: of all): it must be
-- able to see or run jobs of one of them.
CREATE OR REPLACE FUNCTION tenure.can_see_worker(tenants text[]) RETURNS boolean
LANGUAGE sql STABLE
RETURN tenants IS NULL OR EXISTS (
    SELECT FROM tenure.tenant AS t WHERE t.name = ANY (tenants)
      AND has_function_privilege(session_user, to_regprocedure(format('%I.show(bigint)', t.schema)),
          'EXECUTE'));
