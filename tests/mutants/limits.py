"""Grants of limits, and reservations of budgets."""

from tests.mutants.mutant import Mutant, mutant

LIMITS: tuple[Mutant, ...] = (
    mutant(
        "a burst is not the most that is left",
        "limit_levels",
        "least((r.value ->> 'burst')::numeric,",
        "greatest(0,",
        "limits::test_a_burst_is_what_may_start_at_once",
    ),
    mutant(
        "a clock that was set back refills",
        "limit_levels",
        "greatest(extract(epoch FROM now_ts - since), 0)",
        "abs(extract(epoch FROM now_ts - since))",
        "limit_clocks::test_a_clock_that_is_set_back_refills_nothing",
    ),
    mutant(
        "a clock that catches up refills once more",
        "save_limit",
        "greatest(l.at, (SELECT s.refilled_at FROM tenant.limit_state AS s"
        " WHERE s.name = l.name));",
        "l.at;",
        "limit_clocks::test_a_clock_that_is_set_back_refills_nothing",
        "tests/model/test_model.py::test_the_invariants_hold_after_every_step",
    ),
    mutant(
        "a clock that was a year ahead stops a line for a year",
        "lock_limit",
        "l.at + make_interval(secs => tenant.limit_refill(l.rates)));",
        "'infinity');",
        "limit_clocks::test_a_clock_that_was_a_year_ahead_costs_one_refill",
    ),
    mutant(
        "a clock that was a year ahead stops running jobs for a year",
        "lock_limit",
        "UPDATE tenant.limit_state AS s SET refilled_at = state.refilled_at"
        " WHERE s.name = lock_limit.name;",
        "",
        "limit_clocks::test_running_jobs_get_grants_again_after_the_clock_was_a_year_ahead",
    ),
    mutant(
        "nobody looks at a line after the clock was set back",
        "prune_limits",
        "WHERE s.lined AND s.refilled_at > now_ts;",
        "WHERE false;",
        "limit_clocks::test_a_clock_that_was_a_year_ahead_costs_one_refill",
    ),
    mutant(
        "a slow rate breaks the claim",
        "save_limit",
        "least(extract(epoch FROM {grace.max}), tenant.limit_wait(l.rates, l.levels,"
        " tenant.job_needs(l.rates, kept + 1)))",
        "tenant.limit_wait(l.rates, l.levels, tenant.job_needs(l.rates, kept + 1))",
        "limit_clocks::test_no_rate_is_too_slow_or_too_fast_for_a_claim",
    ),
    mutant(
        "two claims take from a limit at once",
        "lock_limit",
        "l.locked := pg_try_advisory_xact_lock(tenant.limit_class(), hashtext(name))"
        " OR (waits AND tenant.wait_for_limit(name));",
        "l.locked := true;",
        "races/limits::test_two_claims_at_once_do_not_exceed_a_limit",
    ),
    mutant(
        "a closed limit lets jobs start",
        "limit_room",
        "l.closed_until IS NOT NULL OR ",
        "",
        "limits::test_a_closed_limit_starts_nothing_until_its_time_or_until_it_is_opened",
    ),
    mutant(
        "a closed limit grants",
        "grant_limit",
        "ELSIF l.closed_until IS NOT NULL THEN",
        "ELSIF false THEN",
        "grants::test_one_throttled_call_closes_the_limit_for_everybody",
    ),
    mutant(
        "a job waits for a limit that it has itself",
        "grant_limit",
        "ELSIF l.at_once = 1 AND EXISTS",
        "ELSIF false AND EXISTS",
        "grants::test_a_job_does_not_wait_for_what_it_has_itself_until_it_ends",
    ),
    mutant(
        "a close does not wait for a grant",
        "close_limit",
        "PERFORM pg_advisory_xact_lock(tenant.limit_class(), hashtext(name));",
        "",
        "races/limits::test_close_and_grant_at_once_grant_nothing_after_the_close",
    ),
    mutant(
        "a new job overtakes the line",
        "start_limited",
        "OR rooms[at] > cardinality(asked[at].called) AND NOT asked[at].lined) THEN",
        "OR rooms[at] > 0) THEN",
        "limits::test_a_retry_waits_behind_the_line",
        "limits::test_a_new_job_does_not_overtake_the_line",
    ).and_also(
        "(asked[cardinality(names)].locked AND NOT asked[cardinality(names)].lined"
        " AND asked[cardinality(names)].called = '{}')",
        "asked[cardinality(names)].locked",
    ),
    mutant(
        "more jobs start than were asked for",
        "start_limited",
        "cardinality(started) + cardinality(ids) <= wanted AND NOT EXISTS",
        "NOT EXISTS",
        "claim_order::test_no_more_jobs_start_than_were_asked_for",
    ),
    mutant(
        "all jobs start when they do not all fit",
        "start_limited",
        "HAVING NOT l.is_open OR count(*) > l.room",
        "HAVING NOT l.is_open",
        "limits::test_a_limit_starts_what_it_has_room_for_and_lines_up_the_rest",
    ),
    mutant(
        "an attempt keeps its grants",
        "return_grants",
        "WHERE g.job_id = ANY (jobs)",
        "WHERE false",
        "limits::test_a_limit_at_once_is_free_again_when_a_job_ends",
    ),
    mutant(
        "a called job keeps its place for ever",
        "promote_limits",
        "WHERE j.id = ANY (l.called) AND j.ready::text = 'true');",
        "WHERE j.id = ANY (l.called));",
        "limits::test_a_called_job_that_is_stopped_does_not_keep_its_place",
    ),
    mutant(
        "a paused target does not hold back a called job",
        "call_from_line",
        "closed := ARRAY(SELECT p.name FROM tenant.pause AS p WHERE p.subject = 'target');",
        "closed := '{}';",
        "limits::test_limits_pools_and_targets_hold_together",
    ),
    mutant(
        "a job that joins a line leaves no wake",
        "insert_job",
        "ELSIF waits = 'limit' THEN INSERT INTO tenant.wake (limit_name) VALUES (d.limits[1]);",
        "",
        "races/limits::test_a_job_enqueued_into_a_line_that_ends_meanwhile_starts",
    ),
    mutant(
        "a state is forgotten before it is full",
        "prune_limits",
        "FROM jsonb_each(l.rates) AS r)) = 0;",
        "FROM jsonb_each(l.rates) AS r)) >= 0;",
        "limits::test_unused_states_are_pruned_once_they_are_full",
    ),
    mutant(
        "a repeated request is granted twice",
        "grant_limit",
        "IF EXISTS (SELECT FROM tenant.limit_grant AS g",
        "IF false AND EXISTS (SELECT FROM tenant.limit_grant AS g",
        "grants::test_a_request_that_is_repeated_is_granted_once",
    ),
    mutant(
        "what others reserved does not count",
        "reserve_budget",
        "WHERE b.at - s.spent - v.reserved <",
        "WHERE b.at - s.spent <",
        "grants::test_children_cannot_reserve_more_than_the_budget_above_them",
    ),
    mutant(
        "two jobs of a tree reserve at once",
        "reserve_budget",
        "ORDER BY p.job_id FOR NO KEY UPDATE SKIP LOCKED);",
        "ORDER BY p.job_id);",
        "races/limits::test_two_reservations_at_once_do_not_exceed_the_budget",
    ),
    mutant(
        "what nobody settled is returned",
        "charge_reservations",
        "e.worker_id, sum(e.amount), tenure.now()",
        "e.worker_id, sum(0 * e.amount), tenure.now()",
        "grants::test_what_nobody_settled_is_charged_when_the_attempt_ends",
    ),
)
