"""Runners, keepers and databases that are killed between steps: only the step in flight repeats."""

import random
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tenure.control.task import Task
from tenure.domain.tenant import DEFAULT
from tenure.store import schema
from tenure.store.embedded import Embedded
from tenure.store.store import Store
from tests.apps import steps
from tests.conftest import chosen_binaries
from tests.system.scene import SHORT, Scene, kill_all
from tests.system.test_outages import own_server, stop_at_once
from tests.workers import eventually

__all__ = ["own_server"]  # a fixture

APP = "tests.apps.steps:app"
PLACES = 60
KILLS = 3
MARCHES = pytest.mark.parametrize("task", [steps.march_async, steps.march_process])


@pytest.fixture
def scene(database: str, store: Store, tmp_path: Path) -> Scene:
    return Scene(database, store, tmp_path)


def strides(scene: Scene) -> list[int]:
    path = scene.folder / "calls"
    lines = path.read_text().splitlines() if path.exists() else []
    return [int(line.split()[2]) for line in lines if line.startswith("march ")]


def march(scene: Scene, task: Task[..., Any], kill: Callable[[], object]) -> None:
    """Kill something several times while the job steps; check which steps were repeated."""
    luck = random.Random(task.name)
    job = scene.enqueue(task.using(retry=100).new_job(PLACES))
    for number in range(1, KILLS + 1):
        eventually(lambda far=number * 10: far in strides(scene), f"stride {number * 10}")  # type: ignore[misc]
        time.sleep(luck.random() * 0.02)
        kill()
    [done] = scene.completes(job)
    assert done.result == sum(range(PLACES))
    went = strides(scene)
    assert sorted(set(went)) == list(range(PLACES))
    for before, after in pairwise(went):
        assert after in (before, before + 1), f"a step that was kept ran again: {went}"
    assert len(went) - PLACES <= KILLS, f"more than the step in flight was repeated: {went}"


@MARCHES
def test_a_killed_runner_repeats_the_step_in_flight_at_most(
    scene: Scene, task: Task[..., Any]
) -> None:
    with scene.worker(app=APP, **SHORT) as worker:
        march(scene, task, lambda: kill_all(worker.runners))


@MARCHES
def test_a_killed_keeper_repeats_the_step_in_flight_at_most(
    scene: Scene, task: Task[..., Any]
) -> None:
    workers: list[Any] = []

    def replace() -> None:
        if workers:
            workers[-1].tree[0].kill()
            workers[-1].ends()
        opened = scene.worker(app=APP, host=f"host-{len(workers)}", **SHORT)
        stack.append(opened)
        workers.append(opened.__enter__())

    stack: list[Any] = []
    try:
        replace()
        march(scene, task, replace)
    finally:
        for opened in reversed(stack):
            opened.__exit__(None, None, None)


@MARCHES
def test_a_killed_database_repeats_the_step_in_flight_at_most(
    own_server: Path, tmp_path: Path, task: Task[..., Any]
) -> None:
    with Embedded.open(own_server, chosen_binaries()) as server, Store(server.url) as store:
        with psycopg.connect(server.url, autocommit=True) as connection:
            schema.migrate(connection, DEFAULT)
        scene = Scene(server.url, store, tmp_path)

        def restart() -> None:
            stop_at_once(own_server)
            opened.append(Embedded.open(own_server, chosen_binaries()))
            opened[-1].__enter__()

        opened: list[Any] = []
        try:
            with scene.worker(app=APP, TENURE_LEASE="30s") as worker:
                assert worker.pid
                march(scene, task, restart)
        finally:
            for again in opened:
                again.__exit__(None, None, None)
