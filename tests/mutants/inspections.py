"""Guards of inspections (whose attempt, by whom, kept for how long) and of subscriptions."""

from tests.mutants.mutant import Mutant, mutant, python_mutant

INSPECTIONS: tuple[Mutant, ...] = (
    mutant(
        "an old token answers an inspection",
        "answer_inspection",
        "AND j.worker_id = answer_inspection.worker AND j.token = answer_inspection.token"
        " FOR SHARE",
        "FOR SHARE",
        "inspections::test_only_the_attempt_that_runs_can_be_looked_into",
    ).and_also("AND l.token = answer_inspection.token", ""),
    mutant(
        "a dead worker answers an inspection",
        "answer_inspection",
        "w.dead_at IS NULL",
        "true",
        "inspections::test_a_worker_that_was_declared_dead_answers_nothing",
    ),
    mutant(
        "an answer says who asked",
        "inspection",
        "'answered_at', l.answered_at))::json",
        "'answered_at', l.answered_at) || coalesce(l.answer, '{}'))::json",
        "inspections::test_an_answer_is_an_object_of_a_limited_size",
    ),
    mutant(
        "anybody may read an inspection",
        "inspection",
        "IF refusal IS NOT NULL THEN",
        "IF false THEN",
        "inspections::test_a_look_is_for_whoever_may_stop_the_job_and_is_on_record",
    ),
    mutant(
        "anybody may inspect",
        "inspect",
        "IF refusal IS NOT NULL THEN",
        "IF false THEN",
        "inspections::test_a_look_is_for_whoever_may_stop_the_job_and_is_on_record",
    ),
    mutant(
        "an inspection outlives the attempt",
        "close_inspections",
        "IF EXISTS (SELECT FROM tenant.inspection) THEN",
        "IF false THEN",
        "inspections::test_with_the_attempt_goes_all_that_was_seen",
    ),
    mutant(
        "an inspection removes the orders of a stop",
        "answer_inspection",
        "AND s.orders -> 'inspection' = to_jsonb(answer_inspection.inspection)",
        "",
        "inspections::test_the_signal_of_a_stop_outlives_the_look",
    ),
    mutant(
        "old inspections are kept",
        "prune",
        "l.asked_at < now_ts - interval '1 hour'",
        "false",
        "inspections::test_what_was_seen_is_forgotten_after_an_hour",
    ),
    python_mutant(
        "a subscriber misses changes before the first answer of a poll",
        "control/polling.py",
        "if is_ready and (events := self.take()):",
        "if events := self.take():",
        "tests/control/test_polling.py::test_nothing_is_received_before_each_poll_has_answered",
    ),
    python_mutant(
        "a subscriber misses what ended before its first event",
        "control/polling.py",
        "if number > cursor.after or (",
        "if (number > cursor.after and not cursor.is_new) or (",
        "tests/control/test_polling.py::test_a_subscriber_receives_an_end_that_comes_after_it_joined",
    ),
)
