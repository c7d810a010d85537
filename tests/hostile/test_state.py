"""A process runner that is used again is as new: the next job finds what the first one found."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tenure.domain.lifecycle import State
from tenure.store.store import Store
from tests.apps.hostile import state
from tests.apps.hostile.kinds import KINDS
from tests.system.stage import Stage
from tests.workers import eventually, running_worker

KIND_NAMES = [kind.name for kind in KINDS.values() if kind.group == "state"]


@pytest.fixture(scope="module")
def stage(lanes_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A worker with a single process at a time, so that jobs follow each other in it."""
    folder = tmp_path_factory.mktemp("state")
    before, state.app._url = state.app._url, lanes_database
    place = "tests.apps.hostile.state:app"
    try:
        with (
            Store(lanes_database) as store,
            running_worker(lanes_database, folder, "--processes", "1", app=place) as worker,
        ):
            yield Stage(store, worker, folder)
    finally:
        state.app.close()
        state.app._url = before


@pytest.fixture(scope="module")
def as_new(stage: Stage) -> dict[str, Any]:
    """The state of a process that no job has changed."""
    return found()


def found() -> dict[str, Any]:
    """Return what the next job finds."""
    answer: dict[str, Any] = state.report.enqueue().result(timeout="45s")
    return answer


def check(as_new: dict[str, Any]) -> None:
    """Fail if the next job finds anything changed; a changed process is kept from the others."""
    now = found()
    changed = [
        f"{name}: {as_new[name]} became {now[name]}"
        for name in as_new
        if name != "pid" and now[name] != as_new[name]
    ]
    if changed:
        os.kill(now["pid"], signal.SIGKILL)
        found()
        pytest.fail("\n".join(changed), pytrace=False)


@pytest.mark.parametrize("name", KIND_NAMES)
def test_what_a_job_changed_does_not_reach_the_next(
    stage: Stage, as_new: dict[str, Any], name: str
) -> None:
    state.changes.enqueue(name, str(stage.folder / name), False).result(timeout="45s")
    check(as_new)


@pytest.mark.parametrize("force", [False, True], ids=["graceful", "forced"])
@pytest.mark.parametrize("name", ["hard_limit", "niceness", "time_zone", "environment", "traced"])
def test_what_a_stopped_job_changed_does_not_reach_the_next(
    stage: Stage, as_new: dict[str, Any], name: str, force: bool
) -> None:
    ready = stage.folder / f"stopped-{name}-{force}"
    handle = state.changes.enqueue(name, str(ready), True)
    eventually(Path(ready).exists)
    handle.cancel(reason="enough", force=force)
    stage.watch.becomes(handle.id, State.CANCELLED)
    check(as_new)
