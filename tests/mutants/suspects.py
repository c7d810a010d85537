"""Suspects of a death: who is charged, who runs alone, and what is kept of it."""

from tests.mutants.mutant import Mutant, mutant

_JUST_STARTED = "coalesce(j.started_at > s.beat_at - interval '30 seconds', false)"

SUSPECTS: tuple[Mutant, ...] = (
    mutant(
        "every job of a dead worker is charged",
        "conclude",
        "t.suspect IS TRUE AND NOT j.orphan_fails",
        "false",
        "suspects::test_a_job_that_was_not_alone_is_given_back_unspent_and_runs_alone_next",
    ),
    mutant(
        "a job that must not be tried again is given back",
        "conclude",
        "t.suspect IS TRUE AND NOT j.orphan_fails",
        "t.suspect IS TRUE",
        "suspects::test_who_fails_orphans_fails_suspects_too",
    ),
    mutant(
        "the death of a worker makes nobody a suspect",
        "conclude",
        "alone = d.outcome IN ('crashed', 'expired')",
        "alone = d.outcome = 'crashed'",
        "suspects::test_a_job_that_was_not_alone_is_given_back_unspent_and_runs_alone_next",
    ),
    mutant(
        "a suspect that is put off is none any more",
        "conclude",
        "(j.alone AND d.unstarted IS TRUE)",
        "false",
        "suspects::test_a_suspect_that_is_put_off_stays_one_and_nothing_is_on_record",
    ),
    mutant(
        "to be put off makes a suspect",
        "conclude",
        "(j.alone AND d.unstarted IS TRUE)",
        "d.unstarted IS TRUE",
        "suspects::test_what_is_put_off_is_no_suspect_for_that",
    ),
    mutant(
        "an attempt that never began is on record",
        "conclude",
        "OR m.attempt > 1) AND NOT (m.unstarted IS TRUE AND m.state = 'pending')",
        "OR m.attempt > 1)",
        "suspects::test_a_suspect_that_is_put_off_stays_one_and_nothing_is_on_record",
    ),
    mutant(
        "an attempt that never began takes the error away",
        "conclude",
        "OR m.state = 'failed') AND NOT (m.unstarted IS TRUE AND m.state = 'pending')",
        "OR m.state = 'failed')",
        "suspects::test_a_suspect_that_is_put_off_stays_one_and_nothing_is_on_record",
    ),
    mutant(
        "a suspect that completed keeps its error",
        "complete_plainly",
        "AND h.attempt = 1 AND h.crashes = 0",
        "AND h.attempt = 1",
        "suspects::test_a_suspect_that_completes_has_no_error_any_more",
    ),
    mutant(
        "a suspect that completed by the long way keeps its error",
        "conclude",
        "OR m.crashes > 0",
        "",
        "suspects::test_a_suspect_that_completes_has_no_error_any_more",
    ),
    mutant(
        "who did not run alone is charged",
        "orphans",
        "SELECT j.alone AND (j.crashes",
        "SELECT true AND (j.crashes",
        "suspects::test_its_neighbours_are_not_charged_with_it",
    ),
    mutant(
        "nobody is charged who has just started",
        "orphans",
        _JUST_STARTED,
        "false",
        "suspects::test_a_job_that_ran_alone_is_charged_and_runs_alone_again",
    ),
    mutant(
        "who has run for long is charged",
        "orphans",
        _JUST_STARTED,
        "true",
        "suspects::test_a_suspect_that_has_run_for_long_is_not_charged_in_the_place_of_a_new_one",
    ),
    mutant(
        "a suspect is as old as its death was noticed late",
        "orphans",
        _JUST_STARTED,
        "j.started_at > moment - interval '30 seconds'",
        "suspects::test_a_suspect_of_a_silent_worker_is_judged_by_its_last_beat",
    ),
    mutant(
        "who strikes late is never charged",
        "orphans",
        "j.crashes > j.attempt OR",
        "",
        "suspects::test_a_suspect_that_was_there_at_two_deaths_is_charged_whenever_it_strikes",
    ),
    mutant(
        "who was about to be put off is charged",
        "orphans",
        "AND NOT EXISTS (SELECT FROM tenant.job AS o",
        "AND true OR EXISTS (SELECT FROM tenant.job AS o",
        "suspects::test_of_suspects_that_were_claimed_at_once_nobody_is_charged",
    ),
    mutant(
        "an older suspect saves a new one",
        "orphans",
        "AND o.started_at BETWEEN j.started_at - interval '30 seconds' AND j.started_at",
        "",
        "suspects::test_a_suspect_that_has_run_for_long_is_not_charged_in_the_place_of_a_new_one",
        "suspects::test_a_suspect_that_was_claimed_just_after_another_is_not_charged",
    ),
)
