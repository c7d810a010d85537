"""No mix of innocent and hostile jobs, some of them cancelled, keeps anybody from ending."""

import random
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tenure.control.handle import Handle
from tenure.domain.lifecycle import State
from tests.apps.hostile import mixed
from tests.hostile import arena as arenas
from tests.hostile.arena import ENDED, Arena, Lane, patiently
from tests.hostile.scenario import Traces

pytestmark = pytest.mark.timeout(300)

BOUND = 60.0  # seconds for a whole batch
HOSTILE = [
    "os_system",
    "posix_spawn",
    "double_fork",
    "popen_cleared_session",
    "leader_ended",
    "daemon_thread",
    "low_level_thread",
    "pool_item",
    "timer_chain",
    "task",
    "task_by_hand",
    "task_that_swallows",
    "call_later_chain",
]
INNOCENT = [
    "lazy_thread_pool",
    "process_pool_fork",
    "progress_monitor",
    "channel_poller",
    "scheduler",
    "many_to_thread",
    "awaited_subprocess",
    "finished_subprocess",
    "cached_connection",
]


@pytest.fixture(scope="module")
def arena(lanes_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Arena]:
    folder = tmp_path_factory.mktemp("mix")
    settings = {"TENURE_STOP_GRACE": "1s"}
    with arenas.opened(lanes_database, folder, mixed, **settings) as arena:
        yield arena


@pytest.mark.parametrize("seed", [1, 2])
def test_all_of_a_mixed_batch_end_and_the_long_job_begins_at_most_twice(
    arena: Arena, seed: int
) -> None:
    with arena.lane() as lane:
        _play(lane, random.Random(seed), seed)


def _play(lane: Lane, dice: random.Random, seed: int) -> None:
    mark = f"mix-{seed}"
    began = time.monotonic()
    long = lane.enqueue(mixed.long, mark=mark, seconds=6)
    patiently(lambda: lane.begins(long, mark), BOUND)
    numbers = {name: 10_000 * seed + number for number, name in enumerate(HOSTILE)}
    jobs: list[tuple[Any, dict[str, Any]]] = []
    jobs += [(mixed.uses, {"habit": name, "mark": mark}) for name in INNOCENT * 2]
    jobs += [
        (mixed.coroutine, {"number": number, "kind": name, "stays": True})
        for name, number in numbers.items()
    ]
    dice.shuffle(jobs)
    innocent: list[Handle[Any]] = []
    hostile: list[Handle[Any]] = []
    for task, arguments in jobs:
        handle = lane.enqueue(task, **arguments)
        (innocent if task is mixed.uses else hostile).append(handle)
    for number in numbers.values():
        traces = Traces(lane.folder, number)
        assert patiently(lambda: traces.is_ready, BOUND), f"{number} never ran"  # noqa: B023
    for handle in hostile:
        how: dict[str, Any] = {"force": True} if dice.random() < 0.5 else {"grace": "1s"}
        handle.cancel(reason="enough", **how)
    ended = {}
    for handle in [*hostile, *innocent, long]:
        within = max(1.0, began + BOUND - time.monotonic())
        job = lane.ends(handle, within) or lane.show(handle)
        assert job.state in ENDED, f"job {handle.id} of {job.task} is {job.state}"
        ended[handle.id] = job
    assert {ended[one.id].state for one in hostile} == {State.CANCELLED}
    assert {(ended[one.id].state, ended[one.id].attempt) for one in innocent} == {
        (State.COMPLETED, 1)
    }
    assert (ended[long.id].state, ended[long.id].attempt) == (State.COMPLETED, 1)
    assert lane.begins(long, mark) <= 2
    for number in numbers.values():
        assert Traces(lane.folder, number).living() == []
