"""Functions that wait in a runner behind another: withdrawn, given back, and never charged."""

import asyncio
import json
import os
import signal
import time
from typing import Any

from tenure.config import Settings
from tenure.domain.lifecycle import Intent, Rung
from tenure.runtime.guarding import Exit
from tenure.runtime.keeper.runs.process_group import TAKE_BACK_AFTER
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.run_times import HORIZON, RunTimes
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.keeper.services.watchdog import Watchdog
from tenure.runtime.messages import AttemptEnded, Endings, Orders
from tenure.runtime.wire import frame
from tests.runtime.lone_keeper import Scene, claimed, in_a_keeper, turns

KILLED = Exit(None, signal.SIGKILL)
ORDERS = Orders(Intent.CANCEL, "enough", "somebody", 30.0)


def queue(scene: Scene, *jobs: int, options: Any = None, quick: bool = True) -> list[Run]:
    """Start these jobs in one runner, as quick functions; the first of them has begun."""
    scene.group.capacity.free = 1
    runner = scene.runner()
    for _ in range(100 if quick else 0):
        scene.times.note("task", 0.001)
    scene.keeper.supervisor.start(
        "default", scene.group, [claimed(job, options=options) for job in jobs]
    )
    scene.begin(runner)
    runner.note_begun()
    return list(scene.keeper.runs)


def runner_of(run: Run) -> Runner:
    assert run.runner is not None
    return run.runner


@in_a_keeper
async def test_the_first_job_is_claimed_alone_and_quick_ones_in_growing_numbers(
    scene: Scene,
) -> None:
    [run] = queue(scene, 1, quick=False)
    assert scene.group.free == 0, "nothing is known of its task"
    for seen in range(1, 4):
        scene.times.note("task", 0.001)
        assert scene.group.free == seen
    scene.times.note("task", 10 * HORIZON)
    assert scene.group.free == 0, "by now it seems to be a long one"
    assert run in scene.keeper.runs


@in_a_keeper
async def test_nothing_is_claimed_to_wait_behind_a_function_that_runs_for_long(
    scene: Scene,
) -> None:
    [run] = queue(scene, 1)
    assert scene.group.free > 10
    runner_of(run).page.note_begun(run.number, time.monotonic_ns() - int(2 * HORIZON * 1e9))
    run.started_at = None
    assert scene.group.free == 0


def test_the_slowest_task_decides_how_many_are_claimed() -> None:
    times = RunTimes()
    for _ in range(1000):
        times.note("quick", 0.001)
        times.note("slow", 0.06)
    assert (times.ahead(["quick"]), times.ahead(["quick", "slow"])) == (120, 2)
    assert (times.ahead(["quick", "unknown"]), times.ahead([])) == (0, 0)


@in_a_keeper
async def test_a_stop_withdraws_a_function_that_has_not_begun(scene: Scene) -> None:
    first, second, third = queue(scene, 1, 2, 3)
    runner = runner_of(second)
    scene.keeper.stops.ladder.climb(second, "stop", ORDERS, Rung.KILLED, 0)
    await turns()
    [told] = scene.finished
    assert (told.job, told.outcome, told.runner) == (2, "stopped", None)
    assert list(runner.runs) == [first.number, third.number]
    assert scene.begin(runner) == third.number, "the runner never sees it"


@in_a_keeper
async def test_a_function_that_is_stopped_as_it_begins_is_asked_in_its_runner(scene: Scene) -> None:
    _, second = queue(scene, 1, 2)
    runner = runner_of(second)
    scene.begin(runner)
    scene.keeper.stops.ladder.climb(second, "stop", ORDERS, Rung.ASKED, 0)
    await turns()
    assert scene.finished == []
    assert second.number in runner.runs


@in_a_keeper
async def test_the_death_of_a_runner_is_charged_to_the_function_that_ran(scene: Scene) -> None:
    charged: list[Any] = []
    scene.keeper.database.retry_until_answered = _noting(charged)  # type: ignore[method-assign]
    first, *_ = queue(scene, 1, 2, 3)
    runner = runner_of(first)
    ended = AttemptEnded(first.number, "completed", b"1", began=time.monotonic(), took=0.001)
    assert runner.page.add_ending(frame(Endings((ended,))))
    scene.begin(runner)
    scene.keeper.supervisor.runner_lost(runner, KILLED)
    await turns()
    told = {end.job: (end.outcome, end.unstarted, end.suspect) for end in scene.finished}
    assert told == {1: ("completed", False, False), 3: ("released", True, False)}
    assert [call.verb for call in charged] == ["crash"]
    [run] = scene.keeper.runs or [None]
    assert run is None or run.job.id == 2


@in_a_keeper
async def test_a_function_behind_a_long_one_is_given_back(scene: Scene) -> None:
    first, *_ = queue(scene, 1, 2, 3)
    _age(scene, first)
    scene.keeper.supervisor._check_queues()
    assert {told.job: told.unstarted for told in scene.finished} == {2: True, 3: True}
    assert [run.job.id for run in scene.keeper.runs] == [1]


@in_a_keeper
async def test_a_function_behind_a_long_one_moves_to_a_process_that_is_idle(scene: Scene) -> None:
    first, second = queue(scene, 1, 2)
    scene.group.capacity.free += 1
    other = scene.runner("runner-2")
    _age(scene, first)
    scene.keeper.supervisor._check_queues()
    assert scene.finished == []
    assert second.runner is other


@in_a_keeper
async def test_quick_functions_wait_for_their_turn(scene: Scene) -> None:
    _, second = queue(scene, 1, 2)
    second.claimed_at -= TAKE_BACK_AFTER
    scene.keeper.supervisor._check_queues()
    assert scene.finished == []
    assert second.runner is not None


@in_a_keeper
async def test_nothing_waits_behind_a_suspect_nor_a_suspect_behind_anything(scene: Scene) -> None:
    scene.group.capacity.free = 1
    runner = scene.runner()
    for _ in range(100):
        scene.times.note("task", 0.001)
    jobs = [claimed(1, alone=True, crashes=1), claimed(2), claimed(3, alone=True, crashes=1)]
    scene.keeper.supervisor.start("default", scene.group, jobs)
    assert [run.job.id for run in runner.runs.values()] == [1]
    assert scene.group.free == 0


@in_a_keeper
async def test_the_time_in_which_a_function_waits_is_not_its_own(scene: Scene) -> None:
    first, second = queue(scene, 1, 2, options={"timeout": 1.0})
    limit = second.limits.timeout
    scene.keeper.stops._check_timeout(second, limit)
    assert second.cause is None
    runner = runner_of(first)
    scene.begin(runner)
    runner.page.note_begun(second.number, time.monotonic_ns() - 2_000_000_000)
    scene.keeper.stops._check_timeout(second, limit)
    assert second.cause == "timeout"


@in_a_keeper
async def test_a_runner_that_is_replaced_hands_on_what_waits_in_it(scene: Scene) -> None:
    first, second = queue(scene, 1, 2)
    runner, other = runner_of(first), scene.runner("runner-2")
    runner.retired = True
    ended = AttemptEnded(first.number, "completed", b"1", began=time.monotonic(), took=0.001)
    scene.keeper.supervisor.receive(runner, Endings((ended,)))
    assert second.runner is other
    assert scene.group.capacity.free == 0


@in_a_keeper
async def test_another_tenant_that_waits_is_served_before_more_is_claimed_ahead(
    scene: Scene,
) -> None:
    queue(scene, 1)
    exchange: Any = scene.keeper.exchanges["default"]
    dispatcher = scene.keeper.exchange_dispatcher
    assert dispatcher.free(exchange, scene.group) > 10
    waiting: Any = object()
    dispatcher._waiting[waiting] = None
    assert dispatcher.free(exchange, scene.group) == 0


@in_a_keeper
async def test_the_memory_of_a_runner_is_not_that_of_a_function_that_waits(scene: Scene) -> None:
    first, second = queue(scene, 1, 2, options={"timeout": 60})
    runner = runner_of(first)
    second.limits.memory = 1
    runner.pid = os.getpid()
    watchdog = _watchdog(scene)
    watchdog._check_memory(runner)
    assert second.cause is None
    scene.begin(runner)
    watchdog._check_memory(runner)
    assert second.cause == "memory"


@in_a_keeper
async def test_a_function_that_waits_has_no_process_to_give_to_a_higher_priority(
    scene: Scene,
) -> None:
    first, second = queue(scene, 1, 2)
    watchdog = _watchdog(scene, preempt="default")
    assert watchdog._lowest(scene.group) is first, "the second is younger, and does not run"
    assert second.runner is first.runner


@in_a_keeper
async def test_a_function_that_waits_when_its_lease_is_lost_never_begins(scene: Scene) -> None:
    first, second, third = queue(scene, 1, 2, 3)
    runner = runner_of(first)
    scene.keeper.conclusions.drop(second, "another worker has it")
    await turns()
    assert scene.begin(runner) == third.number
    assert scene.finished == [], "its outcome is for another worker to report"
    assert scene.guard.killed == [], "the others continue"
    scene.keeper.conclusions.drop(third, "another worker has it")
    await turns()
    assert scene.guard.killed == [runner.pid], "it has begun"


@in_a_keeper
async def test_a_run_that_lost_its_runner_started_when_it_began(scene: Scene) -> None:
    charged: list[Any] = []
    scene.keeper.database.retry_until_answered = _noting(charged)  # type: ignore[method-assign]
    first, second = queue(scene, 1, 2)
    runner = runner_of(first)
    ended = AttemptEnded(first.number, "completed", b"1", began=time.monotonic(), took=0.001)
    scene.keeper.supervisor.receive(runner, Endings((ended,)))
    second.claimed_at -= 0.3
    scene.begin(runner)
    scene.keeper.supervisor.runner_lost(runner, KILLED)
    await turns()
    [call] = charged
    assert 0.3 <= json.loads(call.arguments["jobs"])[0]["waited"] < 2


def _watchdog(scene: Scene, **settings: Any) -> Watchdog:
    keeper = scene.keeper
    return Watchdog(
        worker=keeper.id,
        settings=Settings(**settings),
        queues=None,
        guard=keeper.guard,
        runs=keeper.runs,
        launcher=keeper.launcher,
        groups=keeper.groups,
        exchanges=keeper.exchanges,
        reports=keeper.reports,
        database=keeper.database,
        stops=keeper.stops,
        counts=keeper.counts,
        may_claim=keeper.may_claim,
    )


def _age(scene: Scene, first: Run) -> None:
    """Let the first function have run for long, and the others have waited for it."""
    first.started_at = asyncio.get_running_loop().time() - 2 * TAKE_BACK_AFTER
    for run in scene.keeper.runs:
        run.claimed_at -= 2 * TAKE_BACK_AFTER


def _noting(charged: list[Any]) -> Any:
    async def answer(call: Any, _tenant: str) -> None:
        charged.append(call)

    return answer
