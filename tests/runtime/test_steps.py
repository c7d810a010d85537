"""Steps in a real worker, in every executor: what is kept is not done again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.app import Tenure
from tenure.control.task import Task
from tenure.domain.lifecycle import State
from tenure.errors import IllegalTransition, InputRefused, JobFailed
from tests.apps import steps
from tests.conftest import wipe
from tests.workers import RunningWorker, Watcher, eventually, running_worker

EXECUTORS: dict[str, Task[..., Any]] = {
    "async": steps.steps_async,
    "process": steps.steps_process,
    "thread": steps.steps_thread,
}


@pytest.fixture(scope="module")
def worker(shared_database: str, folder: Path) -> Iterator[RunningWorker]:
    wipe(shared_database)
    settings = {"TENURE_TEST_URL": shared_database}
    with running_worker(
        shared_database, folder, app="tests.apps.steps:app", settings=settings
    ) as worker:
        yield worker


@pytest.fixture(scope="module")
def app(shared_database: str) -> Iterator[Tenure]:
    before, steps.app._url = steps.app._url, shared_database
    yield steps.app
    steps.app.close()
    steps.app._url = before


@pytest.fixture(params=list(EXECUTORS))
def task(request: pytest.FixtureRequest, worker: RunningWorker, app: Tenure) -> Task[..., Any]:
    return EXECUTORS[request.param]


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    return str(request.node.name).replace("[", "-").replace("]", "")


def calls(folder: Path, topic: str) -> list[str]:
    path = folder / "calls"
    lines = path.read_text().splitlines() if path.exists() else []
    return sorted(line for line in lines if topic in line)


def test_a_resumed_job_does_not_repeat_its_steps(
    task: Task[..., Any], folder: Path, watch: Watcher, topic: str
) -> None:
    handle = task.enqueue("plan", topic)
    watch.becomes(handle.id, State.PAUSED)
    before = calls(folder, topic)
    assert before == [f"plan {topic}", *(f"read {topic}/{n}" for n in range(4))]
    handle.resume()
    size = len(topic) + 2
    result = handle.result(timeout="20s")
    assert result == [[size] * 4, [f"{topic}!/{n}" for n in range(4)]]
    assert calls(folder, topic) == sorted([*before, f"plan {topic}!"])


def test_a_step_whose_arguments_changed_runs_again_and_is_shown_as_changed(
    task: Task[..., Any], folder: Path, watch: Watcher, topic: str
) -> None:
    handle = task.enqueue("changed", topic)
    assert handle.result(timeout="20s") == len(topic)
    [step] = handle.steps()
    assert (step.name, step.changes, step.value) == ("read", 0, len(topic))
    again = handle.rerun(steps={"read": 7})
    assert again.result(timeout="20s") == len(topic) + 1
    [step] = again.steps()
    assert (step.changes, step.value) == (1, len(topic) + 1)


def test_a_step_is_tried_again_within_its_attempt(
    task: Task[..., Any], folder: Path, topic: str
) -> None:
    handle = task.enqueue("retry", topic)
    assert handle.result(timeout="20s") == "at last"
    [step] = handle.steps()
    assert (step.attempts, step.status) == (3, "done")
    assert handle.job().attempt == 1
    assert len(calls(folder, topic)) == 3


def test_what_a_step_spends_and_emits_belongs_to_it_and_is_not_repeated(
    task: Task[..., Any], watch: Watcher, topic: str
) -> None:
    handle = task.enqueue("spend", topic)
    watch.becomes(handle.id, State.PAUSED)
    handle.resume()
    assert handle.result(timeout="20s") == "done"
    assert handle.partials() == ["inside", "inside"]
    assert handle.job().spent == {"tokens": 14}
    assert [(step.name, step.spent) for step in handle.steps()] == [
        ("costly", {"tokens": 7}),
        ("costly again", {"tokens": 7}),
    ]


def test_partial_results_of_a_step_that_failed_are_not_emitted_twice(
    task: Task[..., Any], topic: str
) -> None:
    handle = task.enqueue("emit and fail", topic)
    assert handle.result(timeout="20s") == "done"
    assert handle.job().attempt == 2
    assert handle.partials() == ["a page"]


def test_a_value_is_the_same_at_its_first_return_and_when_it_is_kept(
    task: Task[..., Any], topic: str
) -> None:
    assert task.enqueue("untyped", topic).result(timeout="20s") == [1, {"a": [2]}]


def test_a_large_value_is_kept_as_an_artifact(task: Task[..., Any], topic: str) -> None:
    handle = task.enqueue("large", topic)
    assert handle.result(timeout="20s") == "x" * 200_000
    [step] = handle.steps()
    assert step.value is None
    assert str(step.artifact).startswith(f"{handle.id}/steps/")
    again = handle.rerun(steps={})
    assert again.result(timeout="20s") == "x" * 200_000
    assert [step.artifact for step in again.steps()] == [step.artifact]


def test_arguments_that_are_no_json_are_refused(task: Task[..., Any], topic: str) -> None:
    with pytest.raises(JobFailed, match="pass clients and the like in a closure"):
        task.using(retry=0).enqueue("not json", topic).result(timeout="20s")


def test_a_wait_inside_a_step_is_refused(task: Task[..., Any], topic: str) -> None:
    with pytest.raises(JobFailed, match="wait between steps"):
        task.using(retry=0).enqueue("wait inside", topic).result(timeout="20s")


def test_a_step_ends_when_its_time_is_over(app: Tenure, worker: RunningWorker, topic: str) -> None:
    for task in (steps.steps_async, steps.steps_process):
        result = task.enqueue("timeout", topic).result(timeout="20s")
        assert result == "step 'long' took longer than 100ms"


def test_a_sleep_holds_no_worker_and_the_steps_before_it_are_kept(
    task: Task[..., Any], folder: Path, topic: str
) -> None:
    handle = task.enqueue("sleep", topic)
    assert handle.result(timeout="20s") == len(topic)
    assert calls(folder, topic) == [f"read {topic}"] * 2
    job = handle.job()
    assert (job.attempt, job.crashes) == (1, 0)
    assert [(step.name, step.kind) for step in handle.steps()] == [
        ("before", "step"),
        ("sleep", "sleep"),
        ("after", "step"),
    ]


def test_a_question_is_answered_once_and_typed(
    task: Task[..., Any], folder: Path, topic: str
) -> None:
    handle = task.enqueue("ask", topic)
    [question] = eventually(handle.questions)
    assert question.text == f"Publish {topic}?"
    eventually(lambda: handle.job().waiting == "answer")
    [reason] = [found.reason for found in handle.explain().reasons]
    assert reason == "answer"
    with pytest.raises(InputRefused, match="ok: it takes true or false"):
        handle.answer({"ok": "perhaps"})
    assert handle.answer({"ok": True, "note": "good"}).question == question.id
    assert handle.result(timeout="20s") == [True, "good"]
    with pytest.raises(IllegalTransition, match="was answered by"):
        handle.answer({"ok": False})
    assert calls(folder, topic) == [f"read {topic}"]


def test_without_an_answer_in_time_the_default_counts(task: Task[..., Any], topic: str) -> None:
    handle = task.enqueue("ask briefly", topic)
    assert handle.result(timeout="20s") is False
    with pytest.raises(IllegalTransition, match="is late"):
        handle.answer({"ok": True})


def test_without_an_answer_and_a_default_a_timeout_is_raised(
    task: Task[..., Any], topic: str
) -> None:
    result = task.enqueue("ask in vain", topic).result(timeout="20s")
    assert result == "nobody answered in time: Now?"


def test_events_arrive_once_each_also_if_they_were_published_before(
    task: Task[..., Any], app: Tenure, topic: str
) -> None:
    app.publish("paid", topic, {"sum": 1})
    handle = task.enqueue("event", topic)
    eventually(lambda: handle.job().waiting == "event")
    app.publish("paid", "another", {"sum": 0})
    app.publish("paid", topic, {"sum": 2})
    assert handle.result(timeout="20s") == [{"sum": 1}, {"sum": 2}]


def test_a_stop_ends_a_wait_at_once(task: Task[..., Any], topic: str) -> None:
    handle = task.enqueue("ask", topic)
    eventually(lambda: handle.job().waiting == "answer")
    assert handle.cancel().status == "completed"
    assert handle.questions() == ()
    with pytest.raises(IllegalTransition, match="which is cancelled"):
        handle.answer({"ok": True})


def test_the_step_before_is_in_the_database_when_a_step_begins(
    task: Task[..., Any], topic: str
) -> None:
    assert task.enqueue("looks back", topic).result(timeout="20s") == ["one", "two"]


def test_two_waits_at_once_are_refused(worker: RunningWorker, app: Tenure, topic: str) -> None:
    """Each would have taken the place of the other, whenever the job was started again."""
    refused = steps.steps_async.enqueue("wait twice", topic).result(timeout="20s")
    assert "a job waits for one thing at a time" in refused


def test_after_a_stop_a_gather_begins_no_other_step(
    worker: RunningWorker, app: Tenure, folder: Path, watch: Watcher, topic: str
) -> None:
    handle = steps.steps_process.enqueue("slow", topic)
    eventually(lambda: calls(folder, topic), "the first of forty has begun")
    handle.cancel()
    watch.becomes(handle.id, State.CANCELLED)
    assert len(calls(folder, topic)) < 10
