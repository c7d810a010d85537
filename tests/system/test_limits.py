"""Timeouts, deadlines, memory, budgets: limits use the same ladder as every stop."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tenure.control.task import Task
from tenure.domain.cancellation import CancellationRecord
from tenure.domain.lifecycle import State
from tests.apps import limits
from tests.system.stage import Jobs, Stage, staged
from tests.workers import eventually

OVER_BUDGET = re.compile(r"budget of 100 tokens exceeded: 150(\.0)? spent")


@pytest.fixture(scope="module")
def stage(shared_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("worker")
    with staged(limits.app, shared_database, folder, "limits") as stage:
        yield stage


def stopped_by(stage: Stage, handle: Jobs, policy: str) -> CancellationRecord:
    """Return the record of the stop of this job by a policy."""

    def look() -> str | None:
        return stage.store.show(handle.id).cancellation_id

    record = stage.watch.record_ends(eventually(look, f"job {handle.id} is stopped") or "")
    assert record.initiated_by == f"policy:{policy}"
    return record


# Timeouts.


@pytest.mark.parametrize(
    ("task", "rung"),
    [
        (limits.too_slow, "interrupted"),
        (limits.function_too_slow, "interrupted"),
        (limits.hogs_too_long, "killed"),
        (limits.hogs_too_long_in_a_coroutine, "killed"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_an_attempt_over_its_timeout_fails_and_is_tried_again(
    stage: Stage, task: Task[..., Any], rung: str
) -> None:
    handle = task.enqueue()
    stage.watch.becomes(handle.id, State.FAILED)
    job = stage.store.show(handle.id)
    assert (job.attempt, job.crashes) == (2, 0)
    assert job.error["type"] == "tenure.Timeout"
    assert job.error_message == "timeout of 500ms exceeded"
    assert [attempt["error"]["type"] for attempt in job.attempts] == ["tenure.Timeout"] * 2
    # On a busy machine an attempt may time out before its code does anything.
    ran = stage.lines(f"started-{handle.id}")
    assert ran == sorted({*ran} & {"1", "2"}), "each attempt runs once"
    rungs = [attempt["rung"] for attempt in job.attempts]
    assert rungs == [rung if number in ran else "interrupted" for number in ("1", "2")]
    assert job.cancellation_id is None, "a timeout ends an attempt, not the job"
    stage.nothing_is_left(handle.id, files=rung != "killed")


def test_a_later_attempt_that_is_in_time_completes(stage: Stage) -> None:
    handle = limits.in_time_after_the_first_time.enqueue()
    attempt = handle.result(timeout="20s")
    assert attempt == stage.store.show(handle.id).attempt > 1
    stage.nothing_is_left(handle.id)


def test_a_stop_of_a_job_that_has_timed_out_and_does_not_end_is_a_stop(stage: Stage) -> None:
    endless = limits.hogs_too_long.using(timeout="500ms", grace="1h", retry=limits.OFTEN)
    handle = stage.start(endless)
    eventually(lambda: f"job {handle.id}: timeout of" in stage.worker.log, "it timed out")
    record = stage.stop(handle, force=True)
    stage.is_stopped(handle, record, "killed")


# Deadlines.


@pytest.mark.parametrize("task", [limits.sleeps_async, limits.sleeps], ids=["async", "process"])
def test_a_job_over_its_deadline_is_stopped_on_record(stage: Stage, task: Task[..., Any]) -> None:
    handle = task.using(deadline="1500ms", retry=3).enqueue()
    record = stopped_by(stage, handle, "deadline")
    # On a busy machine the deadline may pass before the job has a runner.
    rungs = ["interrupted"] if stage.lines(f"started-{handle.id}") else ["interrupted", "asked"]
    stage.is_stopped(handle, record, *rungs)
    assert "deadline" in record.reason
    job = stage.store.show(handle.id)
    assert (job.cancelled_by, job.attempt) == ("policy:deadline", 1)


# Memory.


def test_a_process_over_its_memory_limit_fails_and_says_how_much_it_used(stage: Stage) -> None:
    handle = limits.eats_memory.enqueue()
    stage.watch.becomes(handle.id, State.FAILED)
    job = stage.store.show(handle.id)
    assert job.error["type"] == "tenure.MemoryLimit"
    assert (job.error_message or "").startswith("memory limit of 150000000 bytes exceeded: ")
    assert job.attempts[0]["rung"] == "interrupted"
    stage.nothing_is_left(handle.id)


# Budgets.


def test_a_job_over_its_budget_ends_failed_and_keeps_its_partials(stage: Stage) -> None:
    handle = stage.start(limits.spends_too_much)
    stage.watch.becomes(handle.id, State.FAILED)
    job = stage.store.show(handle.id)
    assert OVER_BUDGET.fullmatch(job.error_message or "")
    assert (job.error["type"], job.attempt) == ("BudgetExceeded", 1)
    assert handle.partials() == [{"said": "before the end"}]
    assert job.spent == {"tokens": 150}
    [record] = [one for one in stage.store.cancellations(100) if one.job_id == handle.id]
    record = stage.watch.record_ends(record.cancellation_id)
    assert record.initiated_by == "policy:budget"
    assert record.reason == job.error_message
    assert [(one.became, one.rung) for one in record.members] == [("failed", "interrupted")]
    stage.nothing_is_left(handle.id)


def test_what_was_spent_is_told_as_it_was_spent(stage: Stage) -> None:
    handle = stage.start(limits.spends_too_much)
    stage.watch.becomes(handle.id, State.FAILED)
    message = stage.store.show(handle.id).error_message
    assert message == "budget of 100 tokens exceeded: 150 spent"


@pytest.mark.parametrize(
    "task", [limits.flushes_what_it_spends, limits.function_flushes_what_it_spends]
)
def test_whoever_flushes_what_it_spends_goes_no_further_than_its_budget(
    stage: Stage, task: Task[[], None]
) -> None:
    handle = stage.start(task)
    stage.watch.becomes(handle.id, State.FAILED, State.COMPLETED)
    assert handle.partials() == [{"call": 0}, {"call": 1}]
    assert stage.store.show(handle.id).error_message == "budget of 100 tokens exceeded: 120 spent"


def test_a_users_stop_of_a_job_over_its_budget_ends_failed(stage: Stage) -> None:
    handle = stage.start(limits.is_over_its_budget)
    handle.cancel(reason="enough")
    stage.let(f"go-on-{handle.id}")
    stage.watch.becomes(handle.id, State.FAILED)
    assert OVER_BUDGET.fullmatch(stage.store.show(handle.id).error_message or "")
    stage.nothing_is_left(handle.id)


def test_a_budget_may_pause(stage: Stage) -> None:
    """The job has exceeded its budget and cannot continue until somebody raises it."""
    handle = stage.start(limits.function_spends_too_much)
    state = stage.watch.becomes(handle.id, State.FAILED, State.PAUSED)
    job = stage.store.show(handle.id)
    assert state is State.PAUSED, job.error_message
    assert job.checkpoint == {"spent": True}
    assert handle.partials() == [{"said": "before the pause"}]
    stage.nothing_is_left(handle.id)


# A cancel that pauses.


def test_a_plain_cancel_of_such_a_task_pauses_it_and_it_continues_from_its_checkpoint(
    stage: Stage,
) -> None:
    handle = stage.start(limits.goes_on_from_its_checkpoint)
    record = stage.watch.record_ends(handle.cancel().cancellation_id)
    stage.is_stopped(handle, record, "interrupted", state=State.PAUSED)
    assert record.reason == "Job was interrupted by user"
    assert stage.store.show(handle.id).cancellation_reason == "Job was interrupted by user"
    handle.resume()
    assert handle.result(timeout="20s") == 7


def test_force_cancels_such_a_task(stage: Stage) -> None:
    handle = stage.start(limits.goes_on_from_its_checkpoint)
    stage.is_stopped(handle, stage.stop(handle, force=True), "interrupted", "killed")
