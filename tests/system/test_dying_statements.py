"""Kill -9 between any two statements of a step: at most the step in flight repeats."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
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
from tests.apps import killed, steps
from tests.conftest import chosen_binaries
from tests.cutting import Proxy
from tests.system.scene import SHORT, Scene
from tests.system.test_outages import own_server, stop_at_once
from tests.workers import eventually

__all__ = ["own_server"]  # a fixture

EVERY = 13  # statements; 1 takes a minute for each executor
MOMENTS = ("before", "during", "after")  # the report that keeps the step
PLACES = 16


def strides(scene: Scene) -> list[int]:
    lines = (scene.folder / "calls").read_text().splitlines()
    return [int(line.split()[-1]) for line in lines]


def repeat_at_most_the_step_in_flight(went: list[int], kills: int) -> None:
    for before, after in pairwise(went):
        assert after in (before, before + 1), f"a step that was kept ran again: {went}"
    assert len(went) - len(set(went)) <= kills, f"more than the step in flight ran again: {went}"


@pytest.mark.parametrize("task", [killed.killed_async, killed.killed_process])
def test_a_runner_is_killed_at_any_statement(
    database: str, store: Store, tmp_path: Path, task: Task[..., Any]
) -> None:
    scene = Scene(database, store, tmp_path)
    with scene.worker(app="tests.apps.killed:app", **SHORT):
        [done] = scene.completes(scene.enqueue(task.new_job(EVERY)))
    assert done.result > 150, "a step has that many statements"
    repeat_at_most_the_step_in_flight(strides(scene), kills=done.attempt)


def march(scene: Scene, proxy: Proxy, kill: Callable[[], object]) -> None:
    """Kill something before, during and after the report of a step, as the proxy sees it."""
    moments = [(f'stride#{number * 4}"', moment) for number, moment in enumerate(MOMENTS, 1)]

    def cut() -> None:
        if moments:
            proxy.cut(*moments.pop(0))

    def on_cut() -> None:
        cut()  # the next one, before anything continues
        kill()

    proxy.on_cut = on_cut
    cut()
    job = scene.enqueue(steps.march_async.new_job(PLACES))
    eventually(lambda: proxy.cuts == len(MOMENTS), "it is killed at each moment")
    [done] = scene.completes(job)
    assert done.result == sum(range(PLACES))
    assert sorted(set(strides(scene))) == list(range(PLACES))
    repeat_at_most_the_step_in_flight(strides(scene), kills=len(MOMENTS))


@pytest.fixture
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Proxy]]:
    with ExitStack() as stack:

        def make(url: str) -> Proxy:
            proxy = Proxy(tmp_path_factory.mktemp("p"), url)
            stack.callback(proxy.close)
            return proxy

        yield make


def test_a_keeper_is_killed_around_the_report_of_a_step(
    database: str, store: Store, tmp_path: Path, proxied: Callable[[str], Proxy]
) -> None:
    scene, proxy = Scene(database, store, tmp_path), proxied(database)
    with ExitStack() as stack:

        def begin() -> Any:
            host = f"host-{len(workers)}"
            opened = scene.worker(app="tests.apps.steps:app", url=proxy.url, host=host, **SHORT)
            workers.append(stack.enter_context(opened))

        def kill() -> None:
            workers[-1].tree[0].kill()
            begin()

        workers: list[Any] = []
        begin()
        march(scene, proxy, kill)


def test_a_database_is_killed_around_the_report_of_a_step(
    own_server: Path, tmp_path: Path, proxied: Callable[[str], Proxy]
) -> None:
    with Embedded.open(own_server, chosen_binaries()) as server, Store(server.url) as store:
        with psycopg.connect(server.url, autocommit=True) as connection:
            schema.migrate(connection, DEFAULT)
        scene, proxy = Scene(server.url, store, tmp_path), proxied(server.url)
        with ExitStack() as stack:

            def kill() -> None:
                stop_at_once(own_server)
                stack.enter_context(Embedded.open(own_server, chosen_binaries()))

            app = "tests.apps.steps:app"
            with scene.worker(app=app, url=proxy.url, TENURE_LEASE="30s"):
                march(scene, proxy, kill)
