"""Suspects in a keeper: which of them start, and which of them is charged when the guard dies."""

import asyncio
import signal
from datetime import timedelta
from importlib.resources import files
from typing import Any

import pytest

from tenure.config import Settings
from tenure.runtime.exit_code import ExitCode
from tenure.runtime.guarding import Exit
from tenure.runtime.keeper import worker_process
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.suspects import (
    AT_ONCE,
    LONGEST_DELAY,
    PROBATION,
    SHORTEST_DELAY,
    Suspects,
    to_blame,
)
from tenure.runtime.keeper.worker_process import GuardLost, WorkerPlan, WorkerProcess
from tenure.store.results import Claimed, Finished
from tests.runtime.lone_keeper import Scene, claimed, in_a_keeper, turns


def suspect(job: int, crashes: int = 1) -> Claimed:
    return claimed(job, alone=True, crashes=crashes)


def start(scene: Scene, job: Claimed, age: float = 0.0) -> Run | None:
    """Claim a job, in a runner of its own; none if it is put off."""
    scene.runner(f"runner-{job.id}")
    scene.group.capacity.free += 1  # jobs are claimed only for processes that are free
    scene.keeper.supervisor.start("default", scene.group, [job])
    run = scene.keeper.runs.of("default", job.id)
    if run is not None:
        assert run.started_at is not None
        assert run.runner is not None
        scene.begin(run.runner)
        run.started_at -= age
    return run


def start_too_early(scene: Scene, job: Claimed) -> Run:
    """Claim a job, in a runner that is not ready yet: it has not begun."""
    scene.runner(f"runner-{job.id}").ready.clear()
    scene.group.capacity.free += 1
    scene.keeper.supervisor.start("default", scene.group, [job])
    run = scene.keeper.runs.of("default", job.id)
    assert run is not None
    assert run.started_at is None
    return run


@in_a_keeper
async def test_suspects_of_one_death_come_back_at_once_in_runners_of_their_own(
    scene: Scene,
) -> None:
    runs = [start(scene, suspect(job)) for job in (1, 2, 3)]
    assert [run is not None and run.alone for run in runs] == [True] * 3


@in_a_keeper
async def test_after_two_deaths_no_suspect_starts_in_the_first_30_s_of_another(
    scene: Scene,
) -> None:
    assert start(scene, suspect(1, crashes=2))
    assert start(scene, suspect(2, crashes=2)) is None
    [told] = scene.finished
    assert (told.job, told.outcome, told.unstarted, told.suspect) == (2, "released", True, False)
    delay = told.run_at - scene.keeper.clock.now()
    assert timedelta(seconds=SHORTEST_DELAY - 0.5) < delay <= timedelta(seconds=LONGEST_DELAY)
    assert start(scene, suspect(3)), "one of a lower level is not held up"


@in_a_keeper
async def test_a_suspect_starts_when_the_one_before_it_has_run_for_30_s(scene: Scene) -> None:
    run = start(scene, suspect(1, crashes=2), age=PROBATION - 1)
    assert start(scene, suspect(2, crashes=2)) is None
    assert run is not None
    assert run.started_at is not None
    run.started_at -= 1
    assert start(scene, suspect(2, crashes=2))


@in_a_keeper
async def test_a_suspect_that_has_no_runner_yet_counts_as_one_that_has_just_started(
    scene: Scene,
) -> None:
    jobs = [suspect(1, crashes=2), suspect(2, crashes=2)]
    scene.keeper.supervisor.start("default", scene.group, jobs)
    assert [run.job.id for run in scene.keeper.runs] == [1]
    assert [told.job for told in scene.finished] == [2]


@in_a_keeper
async def test_after_three_deaths_a_suspect_runs_with_no_other_of_two(scene: Scene) -> None:
    assert start(scene, suspect(1, crashes=2), age=3600)
    assert start(scene, suspect(2, crashes=3)) is None
    scene.keeper.conclusions.abandon(next(iter(scene.keeper.runs)))
    assert start(scene, suspect(2, crashes=3), age=3600)
    assert start(scene, suspect(3, crashes=2)) is None


@in_a_keeper
async def test_who_is_no_suspect_starts_beside_one(scene: Scene) -> None:
    assert start(scene, suspect(1, crashes=3))
    assert start(scene, claimed(2))


@in_a_keeper
async def test_suspects_do_not_fill_the_memory_with_their_processes(scene: Scene) -> None:
    for job in range(1, AT_ONCE + 1):
        assert start(scene, suspect(job), age=3600)
    one_more = start(scene, suspect(AT_ONCE + 1))
    assert one_more is not None
    assert not one_more.alone, "it runs beside others rather than not at all"


@in_a_keeper
async def test_the_more_suspects_wait_the_less_often_they_are_tried(scene: Scene) -> None:
    run = start(scene, suspect(1, crashes=2))
    assert run is not None
    waiting, job = Suspects(), suspect(2, crashes=2)
    delays = [waiting.delay(job, [run]) for _ in range(1000)]
    assert max(delays[:5]) <= SHORTEST_DELAY + 1
    assert min(delays) >= SHORTEST_DELAY
    assert SHORTEST_DELAY + 10 < sum(delays[500:]) / 500 < LONGEST_DELAY
    assert waiting.delay(job, []) == 0
    assert waiting.delay(job, [run]) <= SHORTEST_DELAY + 1, "it counts from the start again"


@in_a_keeper
async def test_the_only_suspect_of_a_worker_is_to_blame_for_its_death(scene: Scene) -> None:
    first, ordinary = start(scene, suspect(1), age=3600), start(scene, claimed(2))
    assert first is not None
    assert ordinary is not None
    now = asyncio.get_running_loop().time()
    assert to_blame([first, ordinary], now) is first
    second = start(scene, suspect(3))
    assert second is not None
    assert to_blame([first, ordinary, second], now) is None


@in_a_keeper
async def test_the_death_of_the_guard_is_charged_to_the_suspect_that_has_just_started(
    scene: Scene,
) -> None:
    charged: list[Any] = []

    async def send(call: Any) -> Any:
        charged.append(call)
        return Finished(by_state={}, refused=(), busy=(), wakes=False)

    store: Any = scene.keeper.database.store("default")
    store.send = send
    old, ordinary, new = (
        start(scene, suspect(1, crashes=2), age=PROBATION),
        start(scene, claimed(2)),
        start(scene, suspect(3, crashes=2)),
    )
    taken, waiting = start_too_early(scene, claimed(4)), start_too_early(scene, claimed(5))
    assert taken.runner is not None
    assert taken.runner.tickets.take() == taken.number  # and it died before it began
    scene.guard.is_gone = scene.guard.has_failed = True
    for run in (old, ordinary, new, taken, waiting):
        assert run is not None
        assert run.runner is not None
        scene.keeper.supervisor.runner_lost(run.runner, Exit(None, signal.SIGKILL))
    await turns()
    assert [call.verb for call in charged] == ["crash"]
    said = charged[0].arguments["jobs"]
    assert "the worker's guard died while this job ran alone" in said
    told = {one.job: (one.outcome, one.suspect, one.unstarted) for one in scene.finished}
    released = ("released", True, False)
    never_began = ("released", False, True)
    assert told == {1: released, 2: released, 4: never_began, 5: never_began}


@pytest.mark.parametrize("why", ["the guard died", "it drains"])
def test_a_suspect_that_never_began_stays_one(why: str) -> None:
    @in_a_keeper
    async def never_began(scene: Scene) -> None:
        scene.keeper.supervisor.start(
            "default", scene.group, [suspect(1)]
        )  # there is no runner yet
        [run] = scene.keeper.runs
        if why == "it drains":
            run.cause = "drain"
            assert scene.keeper.conclusions.withdraw(run)
        else:
            scene.keeper.conclusions.give_back_waiting()
        [told] = scene.finished
        assert (told.outcome, told.suspect, told.unstarted) == ("released", False, True)

    never_began()


class Deaths:
    """A worker whose guard dies again and again, each time after a life of so many seconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, lasting: float) -> None:
        self.process = WorkerProcess(WorkerPlan("app", Settings()))
        self.process._run_worker = self._run_worker  # type: ignore[method-assign]
        self.pauses = [0.1, 0.2, 3600.0]
        self.resets = 0
        self.moments: list[float] = []
        self._now, self._lasting = 0.0, lasting
        monkeypatch.setattr(worker_process, "Backoff", self._backoff)
        monkeypatch.setattr(worker_process, "boottime", lambda: self._now)

    def _backoff(self, first: float, longest: float) -> Any:
        assert 0 < first < longest
        return self

    def next(self) -> float:
        return self.pauses[len(self.moments) - 1]

    def reset(self) -> None:
        self.resets += 1

    async def _run_worker(self) -> ExitCode:
        loop = asyncio.get_running_loop()
        self.moments.append(loop.time())
        self._now += self._lasting
        if len(self.moments) == len(self.pauses):
            loop.call_later(0.05, self.process.ask_to_drain, "enough")
        raise GuardLost("the guard died")


def test_a_worker_pauses_before_it_starts_again_until_it_is_asked_to_leave(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deaths = Deaths(monkeypatch, lasting=2.0)

    async def main() -> ExitCode:
        async with asyncio.timeout(60):
            return await deaths.process._run_until_drained()

    assert asyncio.run(main()) is ExitCode.HANDED_OVER
    first, second, third = deaths.moments
    assert second - first >= 0.1
    assert third - second >= 0.2
    assert deaths.resets == 0, "each pause is longer than the one before"


def test_a_worker_that_lasted_for_a_while_pauses_as_if_for_the_first_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deaths = Deaths(monkeypatch, lasting=61.0)
    asyncio.run(deaths.process._run_until_drained())
    assert deaths.resets == 3


def test_a_dead_worker_is_judged_by_the_same_30_s_as_a_living_one() -> None:
    verb = files("tenure.store") / "verbs/tenant/recover/helpers/orphaned_jobs.sql"
    assert verb.read_text().count(f"interval '{PROBATION:g} seconds'") == 2
