"""Jobs that try to take their worker down. Each ends with a sentence; nobody else notices."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tenure.app import Tenure
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import attacks
from tests.conftest import wipe
from tests.workers import RunningWorker, Watcher, eventually, running_worker

CALM = {"TENURE_LEASE": "15s", "TENURE_BEAT": "500ms"}  # large things take a while


@pytest.fixture(scope="module")
def worker(shared_database: str, folder: Path) -> Iterator[RunningWorker]:
    wipe(shared_database)
    with running_worker(
        shared_database, folder, app="tests.apps.attacks:app", settings=CALM
    ) as worker:
        yield worker


@pytest.fixture(scope="module")
def app(shared_database: str) -> Iterator[Tenure]:
    before, attacks.app._url = attacks.app._url, shared_database
    yield attacks.app
    attacks.app.close()
    attacks.app._url = before


@pytest.fixture(autouse=True)
def unharmed(worker: RunningWorker, app: Tenure, store: Store) -> Iterator[None]:
    """Whatever a job does, the same worker continues, and runs the next job."""
    [before] = _alive(store)
    yield
    assert attacks.noop.enqueue().result(timeout="20s") == "fine"
    assert _alive(store) == [before]


def _alive(store: Store) -> list[str]:
    return [str(one.id) for one in store.workers() if one.status == "alive"]


def _error(store: Store, job: int) -> dict[str, Any]:
    error: Any = store.show(job).error
    return dict(error)


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": "soon"},
        {"grace": -1},
        {"last_rung": "asked twice"},
        {"retry": {"maximum": 3}},
        {"retry": [3]},
        {"deadline": "tomorrow"},
        {"deadline": "2030-01-01T00:00:00"},
        {"memory": "much"},
        {"preserve_artifacts": "no"},
        {"close_timeout": []},
        {"on_budget": {}},
    ],
)
def test_options_that_nobody_can_read_fail_their_job_and_no_other(
    shared_database: str, store: Store, watch: Watcher, options: dict[str, Any]
) -> None:
    job = _enqueue_row(shared_database, attacks.noop.name, "options", json.dumps(options))
    watch.becomes(job, State.FAILED)
    [name] = options
    assert name in _error(store, job)["message"]


def _enqueue_row(url: str, task: str, column: str, value: str) -> int:
    """Enqueue a job with a value that no door would take, written by the owner of the tables."""
    draft = json.dumps({"task": task, "max_attempts": 1})
    with psycopg.connect(url) as connection:
        [(made,)] = connection.execute("SELECT tenure.enqueue(%s::jsonb)", (draft,)).fetchall()
        job: int = made[0]["id"]
        connection.execute(
            f"UPDATE tenure.payload SET {column} = %s::jsonb WHERE job_id = %s".encode(),
            (value, job),
        )
    return job


@pytest.mark.parametrize("text", ["nul", "surrogate"])
def test_a_pause_whose_reason_cannot_be_stored_still_pauses(
    text: str, watch: Watcher, store: Store
) -> None:
    handle = attacks.pauses_with.enqueue(text)
    watch.becomes(handle.id, State.PAUSED)
    seen = store.show(handle.id)
    assert (seen.pause_reason or "").startswith("before\\")
    assert (seen.error, seen.error_message) == (None, None)


def test_a_reason_that_is_no_text_is_written_as_one(watch: Watcher, store: Store) -> None:
    handle = attacks.pauses_with_no_text.enqueue()
    watch.becomes(handle.id, State.PAUSED)
    seen = store.show(handle.id)
    assert (seen.pause_reason, seen.error, seen.error_message) == ("5", None, None)


def test_a_snooze_beyond_all_time_fails_with_a_sentence(watch: Watcher, store: Store) -> None:
    handle = attacks.snoozes_for_ever.enqueue()
    watch.becomes(handle.id, State.FAILED)
    assert "cannot be recorded" in _error(store, handle.id)["message"]


def test_a_clean_up_whose_error_cannot_be_stored_is_told_all_the_same(
    watch: Watcher, store: Store
) -> None:
    handle = attacks.cannot_clean_up.enqueue()
    watch.becomes(handle.id, State.COMPLETED)
    cleanup: Any = store.show(handle.id).cleanup
    assert cleanup["failed"] == [{"name": "Unclosable", "error": "before\\0after"}]


@pytest.mark.parametrize("task", [attacks.says, attacks.says_in_a_process])
@pytest.mark.parametrize("text", ["nul", "surrogate"])
def test_a_line_that_cannot_be_stored_takes_nothing_else_with_it(
    task: Any, text: str, store: Store
) -> None:
    handle = task.enqueue(text)
    assert handle.result(timeout="20s") == "said"
    job = store.show(handle.id)
    assert handle.partials() == [{"page": 1}]
    assert job.checkpoint == {"page": 1}
    lines = [str(line["line"]) for line in store.job_output(handle.id, "logs")]
    assert lines
    assert all(line.startswith("before\\") for line in lines)


def test_a_count_beyond_64_bits_loses_nothing_else(store: Store) -> None:
    handle = attacks.counts_too_far.enqueue()
    assert handle.result(timeout="20s") == "counted"
    assert handle.partials() == [{"page": 1}]


def test_a_checkpoint_with_a_huge_integer_comes_back() -> None:
    assert attacks.saves_a_huge_integer.enqueue().result(timeout="20s") == 0


def test_arguments_that_python_cannot_read_fail_their_job(
    shared_database: str,
) -> None:
    nested = "[" * 3000 + "]" * 3000
    args = f'{{"value": {nested}}}'
    job = _enqueue_row(shared_database, attacks.returns_its_argument.name, "args", args)
    with psycopg.connect(shared_database, autocommit=True) as connection:
        state = "SELECT state::text FROM tenure.job WHERE id = %s"
        eventually(lambda: connection.execute(state, (job,)).fetchone() == ("failed",))


def test_many_large_arguments_and_results_at_once() -> None:
    text = "x" * 1_000_000
    handles = attacks.returns_its_argument.enqueue_many([(text,)] * 70)
    for handle in handles:
        assert len(str(handle.result(timeout="60s"))) == len(text)


def test_a_process_that_floods_the_output_of_its_runner() -> None:
    assert attacks.leaves_a_flood.enqueue().result(timeout="20s") == "left"


def test_what_a_job_said_before_its_runner_died_is_kept(store: Store) -> None:
    for _ in range(5):
        handle = attacks.emits_and_dies.enqueue()
        assert handle.result(timeout="20s") == "survived"
        assert len(handle.partials()) == 20
        assert store.show(handle.id).checkpoint == {"page": 19}


def test_a_job_that_takes_the_output_away() -> None:
    assert attacks.replaces_its_output.enqueue().result(timeout="20s") == "replaced"


def test_a_stop_of_a_job_whose_runner_is_not_ready_yet(watch: Watcher) -> None:
    for _ in range(10):
        handle = attacks.works.enqueue()
        eventually(lambda: watch.state(handle.id) is State.RUNNING)  # noqa: B023
        record = watch.record_ends(handle.cancel().cancellation_id, within=5)
        assert record.status == "completed"
