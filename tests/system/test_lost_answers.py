"""A worker that does not hear whether an end was recorded says it again, and raises no alarm."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.domain.job import NewJob
from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps import attacks
from tests.cutting import Proxy
from tests.workers import RunningWorker, Watcher, eventually, running_worker


@pytest.fixture
def proxy(database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    proxy = Proxy(tmp_path_factory.mktemp("p"), database)
    yield proxy
    proxy.close()


@pytest.fixture
def worker(proxy: Proxy, tmp_path: Path) -> Iterator[RunningWorker]:
    with running_worker(
        proxy.url, tmp_path, app="tests.apps.attacks:app", settings={"TENURE_LEASE": "15s"}
    ) as worker:
        yield worker


def enqueue(store: Store, value: Any) -> int:
    [made] = store.enqueue(NewJob(task=attacks.returns_its_argument.name, args={"value": value}))
    return made.id


def test_an_end_whose_answer_was_lost_raises_no_late_write(
    proxy: Proxy, worker: RunningWorker, store: Store
) -> None:
    watch = Watcher(store)
    watch.becomes(enqueue(store, "before"), State.COMPLETED)
    proxy.cut_after_the_answer_to("the-mark")
    job = enqueue(store, "the-mark")
    eventually(lambda: proxy.cuts)
    watch.becomes(job, State.COMPLETED)
    # The end was said again before this one could be claimed: the same line says both, in turn.
    watch.becomes(enqueue(store, "after"), State.COMPLETED)
    assert worker.drain() == 0
    assert store.show(job).result == "the-mark"
    assert store.statistics().refused == 0
    assert "late write" not in worker.log
