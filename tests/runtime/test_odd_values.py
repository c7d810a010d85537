"""Odd values that a job hands to its context are refused in the job, and harm nobody else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.app import Tenure
from tenure.control.task import Task
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import odd_values
from tests.conftest import wipe
from tests.workers import RunningWorker, Watcher, eventually, running_worker

AnyTask = Task[..., Any]
EXECUTORS: dict[str, AnyTask] = {
    "coroutine": odd_values.in_a_coroutine,
    "thread": odd_values.in_a_thread,
    "process": odd_values.in_a_process,
}
SETTINGS = {"TENURE_LEASE": "15s", "TENURE_BEAT": "500ms", "TENURE_PROCESSES": "1"}


@pytest.fixture(scope="module")
def worker(shared_database: str, folder: Path) -> Iterator[RunningWorker]:
    wipe(shared_database)
    with running_worker(
        shared_database, folder, app="tests.apps.odd_values:app", settings=SETTINGS
    ) as worker:
        yield worker


@pytest.fixture(scope="module", autouse=True)
def app(worker: RunningWorker, shared_database: str) -> Iterator[Tenure]:
    before, odd_values.app._url = odd_values.app._url, shared_database
    yield odd_values.app
    odd_values.app.close()
    odd_values.app._url = before


@pytest.fixture(autouse=True)
def neighbours_finish(folder: Path, store: Store) -> Iterator[None]:
    """Neighbours in the same runners continue, in their only attempt."""
    neighbours = [odd_values.neighbour.enqueue(), odd_values.neighbour_in_a_thread.enqueue()]
    for handle in neighbours:
        eventually((folder / f"started-{handle.id}").exists)
    yield
    for handle in neighbours:
        (folder / f"go-{handle.id}").touch()
        assert handle.result(timeout="30s") == "finished"
        job = store.show(handle.id)
        assert (job.attempt, job.crashes) == (1, 0)


@pytest.mark.parametrize("method", odd_values.ALL)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_an_odd_value_is_taken_or_refused_with_a_sentence(
    executor: str, method: str, store: Store
) -> None:
    handle = EXECUTORS[executor].enqueue(method)
    outcomes = handle.result(timeout="60s")
    assert outcomes.keys() == odd_values.VALUES.keys()
    wrong = {
        name: how
        for name, how in outcomes.items()
        if how != "taken" and not (how.startswith("refused: ") and len(how) > 20)
    }
    assert wrong == {}
    job = store.show(handle.id)
    assert (job.attempt, job.crashes) == (1, 0)


MUST_BE_REFUSED = {
    "progress": ("nan", "infinity", "tuple as key", "raising", "none", "function", "bytes"),
    "progress message": ("tuple as key", "raising", "nan", "set", "holding itself"),
    "save_checkpoint": ("nan", "nan in a set", "tuple as key", "lone surrogate", "nul", "raising"),
    "emit": ("nan", "tuple as key", "holding itself", "nested 3,000 deep", "10 MB", "function"),
    "spend": ("nan", "infinity", "huge integer", "negative", "bytes", "none", "raising", "bool"),
    "spend unit": ("nul", "lone surrogate", "10 MB", "empty"),
    "spawn": ("nan", "holding itself", "lone surrogate", "nul", "10 MB"),
    "slot": ("nan", "huge integer", "lone surrogate", "nul", "none", "raising", "empty", "10 MB"),
    "artifact name": ("nan", "lone surrogate", "nul", "none", "raising", "empty", "10 MB"),
    "artifact data": ("nan", "lone surrogate", "holding itself", "raising", "nested 3,000 deep"),
    "wait_for each": ("nan", "none", "raising", "lone surrogate"),
    "transaction": ("nan", "tuple as key", "lone surrogate", "nul", "holding itself"),
    "Snooze": ("nan", "infinity", "negative", "huge integer", "none", "raising", "lone surrogate"),
    "Discard": ("raising",),
    "Pause": ("raising",),
}


@pytest.mark.parametrize("method", MUST_BE_REFUSED)
def test_a_value_that_cannot_be_stored_is_refused_at_the_call(method: str) -> None:
    outcomes = odd_values.in_a_coroutine.enqueue(method).result(timeout="60s")
    taken = [name for name in MUST_BE_REFUSED[method] if outcomes[name] == "taken"]
    assert taken == []


def test_a_refused_checkpoint_does_not_spoil_the_next_one(store: Store) -> None:
    handle = odd_values.saves_again_after_a_refusal.enqueue()
    assert handle.result(timeout="30s") == {"page": 1, "line": 2}
    assert store.show(handle.id).checkpoint == {"page": 1, "line": 2}


def test_subclasses_of_text_and_number_are_kept_as_plain_ones(store: Store) -> None:
    handle = odd_values.emits_subclasses.enqueue()
    handle.result(timeout="30s")
    assert handle.partials() == [{"text": "text", "count": 3, "share": 0.5}]


def test_a_spawned_job_gets_a_huge_integer_as_it_is(store: Store) -> None:
    spawned = odd_values.spawns_with_a_huge_integer.enqueue().result(timeout="30s")
    assert store.show(spawned).args == {"value": 2**80}


@pytest.mark.parametrize("ending", odd_values.ENDINGS)
def test_a_job_that_ends_with_an_odd_value_ends(ending: str, folder: Path, store: Store) -> None:
    handles = odd_values.ends_with.enqueue_many([(ending, name) for name in odd_values.VALUES])
    for handle in handles:
        eventually((folder / f"ends-{handle.id}").exists)
        eventually(lambda: store.show(handle.id).state is not State.RUNNING)  # noqa: B023
        assert store.show(handle.id).crashes == 0


def test_a_job_that_returns_an_odd_value_ends(store: Store, watch: Watcher) -> None:
    handles = odd_values.returns.enqueue_many([(name,) for name in odd_values.VALUES])
    for handle in handles:
        watch.becomes(handle.id, State.COMPLETED, State.FAILED)
        assert store.show(handle.id).crashes == 0


@pytest.mark.parametrize("field", ["progress", "give"])
def test_what_passes_the_context_and_cannot_be_sent_is_named_in_the_log_of_its_job(
    field: str, store: Store
) -> None:
    handle = odd_values.says_what_cannot_be_sent.enqueue(field)
    assert handle.result(timeout="30s") == "said"
    lines = [str(line["line"]) for line in store.job_output(handle.id, "logs")]
    assert any("cannot be sent" in line for line in lines), lines


def test_a_question_that_cannot_be_sent_is_refused_where_it_is_asked() -> None:
    handle = odd_values.asks_what_cannot_be_sent.enqueue()
    assert "cannot be sent" in handle.result(timeout="30s")
