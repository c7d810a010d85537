"""What a stop cannot reach. Each test shows a limit; if one fails, that limit is gone."""

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenure.domain.lifecycle import State
from tests.apps.hostile import limits
from tests.apps.hostile.beats import EVERY, beat
from tests.hostile import arena as arenas
from tests.hostile.arena import Arena, Lane
from tests.hostile.scenario import Traces
from tests.workers import eventually

NUMBERS = iter(range(500_000, 600_000))


@pytest.fixture(scope="module")
def helper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A service outside the worker that beats for each client for two seconds."""
    place = tmp_path_factory.mktemp("helper") / "socket"

    def serve(listener: socket.socket) -> None:
        while True:
            try:
                asked, _ = listener.accept()
            except OSError:
                return
            with asked:
                path = asked.recv(1000).decode()
            until = time.monotonic() + 2
            while path and time.monotonic() < until:
                beat(path)
                time.sleep(EVERY)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        yield place
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.fixture(scope="module")
def arena(
    lanes_database: str, helper: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Arena]:
    folder = tmp_path_factory.mktemp("limits")
    settings = {"TENURE_TEST_HELPER": str(helper)}
    with arenas.opened(lanes_database, folder, limits, **settings) as arena:
        yield arena


def cancelled(lane: Lane, kind: str) -> tuple[Traces, list[float]]:
    """Cancel a job of this kind; return its traces, and how late its beats are afterwards."""
    number = next(NUMBERS)
    traces = Traces(lane.folder, number)
    handle = lane.enqueue(limits.coroutine, number=number, kind=kind, stays=True)
    eventually(lambda: traces.is_ready, f"{kind} runs")
    handle.cancel(reason="enough", grace="1s")
    job = lane.ends(handle)
    assert job is not None
    assert job.state is State.CANCELLED
    assert job.cancelled_at is not None
    works = lane.ends(lane.enqueue(limits.works))
    assert works is not None
    assert works.state is State.COMPLETED
    traces.grows()
    return traces, traces.later_than(job.cancelled_at)


@pytest.mark.parametrize(
    "kind",
    [
        "audit_hook",
        "stolen_context",
        "finalizer",
        "patched_library",
        "helper_elsewhere",
        "environment_of_the_loop",
    ],
)
def test_work_outside_any_process_thread_or_callback_of_the_job_outlives_a_stop(
    arena: Arena, kind: str
) -> None:
    with arena.lane() as lane:
        _, late = cancelled(lane, kind)
        assert late, "this limit is gone: take it out of the documentation"


def test_a_daemon_with_the_mark_of_a_neighbour_lives_as_long_as_that_neighbour(
    arena: Arena,
) -> None:
    with arena.lane() as lane:
        neighbour = lane.enqueue(limits.has_a_child, gate="forged")
        eventually((lane.folder / "forged-child").exists)
        traces, late = cancelled(lane, "forged_mark")
        assert late, "this limit is gone: take it out of the documentation"
        (lane.folder / "forged").touch()
        assert lane.ends(neighbour) is not None
        eventually(lambda: not traces.living(), "the daemon ends with the neighbour")


def test_a_coroutine_that_cancels_the_tasks_of_others_costs_them_an_attempt(arena: Arena) -> None:
    with arena.lane() as lane:
        neighbour = lane.enqueue(limits.waits_for, gate="cancelled")
        eventually((lane.folder / "cancelled-began").exists)
        assert lane.ends(lane.enqueue(limits.cancels_everybody)) is not None
        (lane.folder / "cancelled").touch()
        done = lane.ends(neighbour)
        assert done is not None
        assert (done.state, done.attempt) == (State.COMPLETED, 2)
