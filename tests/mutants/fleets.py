"""One fleet for many tenants: tenant activity, notifications, and the jobs of dead workers."""

from tests.mutants.mutant import Mutant, mutant

_MAY_RUN = (
    "AND has_function_privilege(session_user,"
    " to_regprocedure(format('%I.promote(integer)', t.schema)), 'EXECUTE')"
)

FLEETS: tuple[Mutant, ...] = (
    mutant(
        "a worker sees tenants it does not serve",
        "control/tenant_activity",
        _MAY_RUN,
        "",
        "fleets::test_a_worker_is_told_of_tenants_whose_jobs_it_may_run",
    ),
    mutant(
        "a sweep reports tenants that the worker does not serve",
        "control/sweep",
        _MAY_RUN,
        "",
        "fleets::test_a_worker_is_told_of_tenants_whose_jobs_it_may_run",
    ),
    mutant(
        "the end of a snapshot is taken for the next transaction",
        "control/tenant_activity",
        "open::text::bigint + age(open::xid)",
        "pg_snapshot_xmax(pg_current_snapshot())::text::bigint",
        "fleets::test_a_tenant_has_moved_before_it_is_seen_why",
    ),
    mutant(
        "living workers are swept",
        "control/sweep",
        "(w.id IS NULL OR w.dead_at IS NOT NULL)",
        "true",
        "fleets::test_a_sweep_says_where_the_dead_held_jobs",
    ),
    mutant(
        "an unknown worker is not missed",
        "control/sweep",
        "(w.id IS NULL OR w.dead_at IS NOT NULL)",
        "w.dead_at IS NOT NULL",
        "fleets::test_a_worker_that_nobody_knows_is_missed_too",
    ),
    mutant(
        "the tenants where a worker has claimed are not recorded",
        "tenant/claim_batch",
        "IF got > 0 THEN",
        "IF false THEN",
        "fleets::test_a_sweep_says_where_the_dead_held_jobs",
    ),
    mutant(
        "a tenant is forgotten before all its jobs are recovered",
        "tenant/delete_holds",
        "AND (SELECT true FROM tenant.job AS j"
        " WHERE j.worker_id = h.worker_id AND j.state = 'running' LIMIT 1) IS NULL",
        "",
        "fleets::test_a_sweep_says_so_until_all_are_taken_back",
    ),
    mutant(
        "a recovery forgets where living workers have claimed",
        "tenant/delete_holds",
        "AND (SELECT true FROM tenure.worker AS w"
        " WHERE w.id = h.worker_id AND w.dead_at IS NULL) IS NULL",
        "",
        "fleets::test_a_recovery_does_not_forget_the_living",
    ),
    mutant(
        "a notification goes to workers of other tenants",
        "control/notify_workers",
        "AND (w.tenants IS NULL OR notify_workers.tenant = ANY (w.tenants))",
        "",
        "fleets::test_a_notice_is_for_workers_that_serve_its_tenant",
    ),
    mutant(
        "a notification is not counted",
        "tenant/notify_idle",
        "PERFORM nextval('tenant.activity');",
        "",
        "fleets::test_a_job_that_is_given_back_moves_its_tenant",
    ),
    mutant(
        "jobs of a paused queue want workers",
        "backlog",
        "format('the queue %s is paused', l.queue)",
        "NULL",
        "scale::test_what_is_paused_does_not_count",
    ),
    mutant(
        "jobs beyond their limit want workers",
        "limits_room",
        "r.name IS NOT NULL",
        "false",
        "scale::test_a_limit_counts_up_to_its_room",
    ),
    mutant(
        "running jobs of other tenants do not protect their worker",
        "drain_order",
        "w.trouble IS NULL, w.taken,",
        "w.trouble IS NULL, w.seconds,",
        "scale::test_jobs_of_other_tenants_protect_a_worker_and_are_not_shown",
    ),
    mutant(
        "running jobs give up their slots",
        "backlog",
        "greatest(m.running, (m.startable",
        "greatest(0, (m.startable",
        "scale::test_running_jobs_keep_their_slots_whatever_they_take",
    ),
)
