"""Requests and reports of hostile runners, contexts that are misused, and the retries of steps."""

from tests.mutants.mutant import Mutant, mutant, python_mutant

_FORGED = "tests/runtime/test_forged_requests.py"
_RETRIES = "tests/runtime/test_step_retries.py"
_REPORTS = "runtime/keeper/database/reports.py"

REQUESTS: tuple[Mutant, ...] = (
    mutant(
        "a request for less than nothing raises a limit",
        "is_bad_request",
        "IF tenure.is_bad_budget(amount) THEN",
        "IF false THEN",
        "hostile_grants::test_a_request_that_is_none_is_refused",
        "hostile_grants::test_a_correction_that_is_none_is_refused",
    ),
    mutant(
        "a grant without a call",
        "is_bad_request",
        "OR coalesce((request #> ARRAY['amounts', 'calls'])::numeric < 1, false)",
        "",
        "hostile_grants::test_a_request_that_is_none_is_refused",
    ),
    mutant(
        "a job closes a limit for ever",
        "is_bad_request",
        "NOT BETWEEN 0 AND 86400",
        "IS NULL",
        "hostile_grants::test_a_correction_that_is_none_is_refused",
    ),
    mutant(
        "a step needs no digest",
        "is_bad_step",
        "OR coalesce(length(step ->> 'digest') NOT BETWEEN 1 AND 100, true)",
        "",
        "hostile_steps::test_a_step_that_is_none_is_refused",
    ),
    mutant(
        "any wait may begin",
        "await_step",
        "ELSIF tenant.is_bad_wait(wait) THEN",
        "ELSIF false THEN",
        "hostile_steps::test_a_wait_that_is_none_is_refused",
    ),
    mutant(
        "an edited value is not looked at",
        "copy_steps",
        "IF wrong IS NOT NULL THEN",
        "IF false THEN",
        "hostile_steps::test_an_edit_that_no_reader_can_take_is_refused",
    ),
    python_mutant(
        "a report that is refused holds up all others",
        _REPORTS,
        "except (InputRefused, WriteRefused) as problem:",
        "except InputRefused as problem:",
        f"{_FORGED}::test_a_report_that_a_trigger_refuses_holds_up_no_other",
    ),
    python_mutant(
        "a step whose report was dropped counts as kept",
        _REPORTS,
        "run.dropped = problem",
        "pass",
        f"{_FORGED}::test_a_forged_request_is_refused_and_holds_up_nobody",
    ),
    python_mutant(
        "a call is throttled after its grant",
        "runtime/grants.py",
        "if not self._is_open: raise",
        "if False:\n            raise",
        f"{_FORGED}::test_a_call_that_makes_no_sense_is_refused",
    ),
    python_mutant(
        "a step is tried again after a subclass of an error that it never retries",
        "runtime/steps/steps.py",
        "retry.gives_up(kinds_of(error))",
        'retry.gives_up([str(described["type"])])',
        f"{_RETRIES}::test_an_error_that_is_never_retried_ends_the_step",
    ),
    python_mutant(
        "a step does not wait as long as its error asks for",
        "runtime/steps/steps.py",
        "if retry.retry_after and (seconds",
        "if False and (seconds",
        f"{_RETRIES}::test_an_error_can_ask_for_time",
    ),
    python_mutant(
        "the function of a step's retry does not decide",
        "runtime/steps/steps.py",
        "decision = decision_by(retry, self._attempt, error)",
        "decision = None",
        f"{_RETRIES}::test_a_function_decides",
    ),
    python_mutant(
        "a retry in ten thousand years",
        "runtime/runner/failures.py",
        'if wrong := validation_error("delay", delay):',
        'if wrong := "" and validation_error("delay", delay):',
        "tests/runtime/test_grants.py::test_without_a_decision_the_backoff_applies",
    ),
)
