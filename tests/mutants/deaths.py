"""Leases, dead workers, and the recovery of their jobs."""

from tests.mutants.mutant import Mutant, mutant, python_mutant

_LATE = "FOR UPDATE SKIP LOCKED ), dead AS ("
_UNLOCKED = "), dead AS ("
_RECHECK = "WHERE w.id = late.id AND w.dead_at IS NULL AND w.expires_at < now_ts - grace"

DEATHS: tuple[Mutant, ...] = (
    mutant(
        "a dead worker renews its lease",
        "control/renew",
        " AND w.dead_at IS NULL AND w.left_at IS NULL",
        "",
        "renew::test_a_dead_worker_stays_dead",
    ),
    mutant(
        "renewing shortens a lease",
        "control/renew",
        "greatest(w.expires_at, now_ts + w.lease)",
        "now_ts",
        "renew::test_a_renewal_pushes_the_lease_out_by_its_length",
    ),
    mutant(
        "a worker is declared dead during its claim",
        "control/declare_dead",
        _LATE,
        _UNLOCKED,
        "races/claims::test_a_worker_in_the_middle_of_a_claim_is_not_declared_dead",
    ),
    mutant(
        "an accepted renewal does not count",
        "control/declare_dead",
        _LATE,
        _UNLOCKED,
        "races/claims::test_a_renewal_in_flight_is_not_overtaken_by_death",
    ).and_also(_RECHECK, "WHERE w.id = late.id"),
    mutant(
        "a sweep after an outage",
        "control/declare_dead",
        "AND NOT (last_sweep.away > w.lease AND now_ts < last_sweep.returned_at + w.lease)",
        "",
        "recover::test_nobody_dies_for_one_lease_after_an_outage_of_the_sweeps_own",
    ),
    mutant(
        "a sweep does not notice that it was away",
        "control/declare_dead",
        "last_sweep.away := now_ts - last_sweep.swept_at;",
        "",
        "recover::test_nobody_dies_for_one_lease_after_an_outage_of_the_sweeps_own",
    ),
    mutant(
        "two sweeps at once wait for each other",
        "control/declare_dead",
        "WHERE w.only_row FOR UPDATE SKIP LOCKED",
        "WHERE w.only_row FOR UPDATE",
        "races/claims::test_a_sweep_does_not_wait_for_another",
    ),
    mutant(
        "a worker that leaves stays alive",
        "control/leave",
        "WHERE w.id = worker AND w.dead_at IS NULL AND tenure.may_act_for_worker(w.registered_by);",
        "WHERE false;",
        "recover::test_a_worker_that_says_goodbye_is_recovered_at_once",
    ),
    mutant(
        "jobs of live workers are recovered",
        "orphaned_jobs",
        "OR w.dead_at IS NOT NULL OR",
        "OR w.id IS NOT NULL OR",
        "recover::test_a_living_worker_keeps_its_jobs",
    ),
    mutant(
        "expiry alone is enough",
        "orphaned_jobs",
        "(dry_run AND w.expires_at < now_ts - grace)",
        "(w.expires_at < now_ts - grace)",
        "recover::test_nobody_dies_for_one_lease_after_an_outage_of_the_sweeps_own",
    ),
    mutant(
        "an unknown worker gets no time to register",
        "orphaned_jobs",
        "(NOT s.unknown OR h.started_at < now_ts - orphan_after)",
        "true",
        "recover::test_jobs_of_an_unknown_worker_are_taken_back_by_the_time_they_started",
    ),
    mutant(
        "other jobs than the named ones are recovered",
        "orphaned_jobs",
        "(ids IS NULL OR h.id = ANY (ids))",
        "true",
        "recover::test_only_the_jobs_that_are_named",
    ),
    mutant(
        "one bad row stops the sweep",
        "recover",
        "EXCEPTION WHEN OTHERS THEN",
        "EXCEPTION WHEN division_by_zero THEN",
        "recover::test_ten_thousand_bad_rows_do_not_hold_up_an_orphan",
    ),
    mutant(
        "one bad row stops the rows after it",
        "recover_each",
        "EXCEPTION WHEN OTHERS THEN",
        "EXCEPTION WHEN division_by_zero THEN",
        "recover::test_ten_thousand_bad_rows_do_not_hold_up_an_orphan",
    ),
    mutant(
        "a dry run declares a worker dead",
        "recover",
        "IF NOT dry_run THEN\n        declared",
        "IF true THEN\n        declared",
        "recover::test_a_dry_run_shows_and_changes_nothing",
    ),
    mutant(
        "a started job counts as stale",
        "stale_jobs",
        "AND j.started_at IS NULL",
        "",
        "guards::test_a_job_that_was_started_once_is_not_stale",
    ),
    mutant(
        "a job in a paused queue counts as stale",
        "stale_jobs",
        "IN (('tenant', ''), ('queue', l.queue))",
        "IN (('tenant', ''))",
        "recover::test_a_paused_queue_makes_nobody_stale",
    ),
    mutant(
        "a job that nobody started has a message of its own",
        "recover",
        "tenant.fail_stale(stale, pending_after, message)",
        "tenant.fail_stale(stale, pending_after, NULL)",
        "recover::test_a_job_that_nobody_started_has_the_chosen_message_too",
    ),
    python_mutant(
        "only one sweep in twelve looks for jobs without a heartbeat",
        "runtime/keeper/services/recovery.py",
        "return min(tenants, _VISITS)",
        "return tenants // 12",
        "tests/runtime/test_chores.py"
        "::test_every_sweep_looks_for_jobs_without_a_beat_in_up_to_25_tenants",
    ),
    mutant(
        "a blocking job is pruned",
        "prune",
        "WHERE tree.blocks OR tree.ended_at",
        "WHERE tree.ended_at",
        "prune::test_a_failed_job_that_blocks_its_target_is_kept",
    ),
    mutant(
        "a tree that has not ended is pruned",
        "prune",
        "OR NOT coalesce(tree.ended_at < now_ts - (keep ->> tree.state::text)::interval, false)",
        "",
        "guards::test_a_job_is_kept_while_something_below_it_lives",
    ).and_also("tree.ended_at IS NULL\n", "false\n"),
    mutant(
        "a job that others depend on is pruned",
        "prune",
        "OR EXISTS (SELECT FROM tenant.edge AS e JOIN",
        "OR false AND EXISTS (SELECT FROM tenant.edge AS e JOIN",
        "prune::test_what_others_still_come_after_is_kept",
    ),
)
