"""The order of things in a keeper: forced here, because a real worker only rarely hits it."""

import asyncio
import json
import signal
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tenure.config import Settings
from tenure.domain.job import NewJob
from tenure.domain.tenant import DEFAULT
from tenure.errors import InputRefused, StoreUnavailable
from tenure.runtime.context import Context
from tenure.runtime.guard.page import boottime
from tenure.runtime.guarding import Exit
from tenure.runtime.keeper.crew import Crew, Room
from tenure.runtime.keeper.keeper import Keeper
from tenure.runtime.keeper.reports import Reports
from tenure.runtime.keeper.run import Run
from tenure.runtime.keeper.runners import Runner
from tenure.runtime.keeper.schedules import Schedules
from tenure.runtime.messages import Ended, Endings, Interrupting, Question, Said, Sayings
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed, Exchanged, Finished, Reported

NOTHING = Reported(accepted=(), refused=(), busy=(), exhausted=(), granted={})


def claimed(job: int = 1, token: int = 1, options: Any = None) -> Claimed:
    return Claimed(
        job, token, "task", "default", b"{}", 1, 3, 0, 0, "", job, None, None, None, options, None,
        None, None,
    )  # fmt: skip


class FakeGuard:
    is_frozen = is_gone = False

    def __init__(self) -> None:
        self.killed: list[int] = []

    def trust_until(self, deadline: float) -> None:
        pass

    async def kill(self, pid: int) -> None:
        self.killed.append(pid)


class FakeStaff:
    def __init__(self, guard: FakeGuard) -> None:
        self._guard = guard
        self.crews: dict[Any, Crew] = {}
        self.runners: list[Runner] = []

    def retire(self, runner: Runner) -> None:
        runner.retired = True

    def kill(self, runner: Runner) -> Coroutine[Any, Any, None]:
        runner.killed = runner.retired = True
        return self._guard.kill(runner.pid)

    def remove_files(self, _runs: object) -> None:
        return

    def forget(self, _tenant: str) -> None:
        return


class FakeLine:
    """Answers reports, when the test wants it to."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.calls: list[Any] = []
        self.answers: list[Any] = []

    async def close(self) -> None:
        return

    async def send(self, call: Any, _tenant: Any = None) -> Any:
        self.calls.append(call)
        await self.open.wait()
        answer = self.answers.pop(0) if self.answers else NOTHING
        if isinstance(answer, Exception):
            raise answer
        return answer


class Scene:
    def __init__(self) -> None:
        self.guard = FakeGuard()
        self.staff = FakeStaff(self.guard)
        self.keeper = Keeper(
            "postgresql://nowhere", Settings(), [DEFAULT], None, cast(Any, self.guard),
            cast(Any, self.staff),
        )  # fmt: skip
        self.keeper.lease.begins(boottime())
        self.crew = self.staff.crews["default", "process"] = Crew(
            "process", "default", Room(2, lambda: None), lambda _crew: None
        )
        self.line = FakeLine()
        self.finished: list[Any] = []
        exchange: Any = self.keeper.exchanges["default"]
        exchange.finish = self.finished.extend
        self.reports = self.keeper.reports["default"]
        self.serving = asyncio.create_task(self.keeper.report_desk.serve(cast(Any, self.line)))

    def runner(self) -> Runner:
        runner = Runner("runner-1", self.keeper.runs.heard, self.keeper.runs.runner_lost)
        runner.kind, runner.tenant, runner.pid = "process", "default", 42
        runner.ready.set()
        runner._channel = cast(Any, Sink())
        self.crew.runners.append(runner)
        return runner

    def start(self, job: Claimed) -> Run:
        self.keeper.runs.claimed("default", self.crew, [job])
        return next(run for run in self.keeper.runs if run.job is job)


class Sink:
    def __init__(self) -> None:
        self.sent: list[Any] = []

    def send(self, message: Any) -> None:
        self.sent.append(message)


def in_a_keeper(test: Callable[[Scene], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    async def main() -> None:
        scene = Scene()
        await test(scene)
        scene.serving.cancel()

    def run() -> None:
        asyncio.run(main())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


async def turns(n: int = 10) -> None:
    for _ in range(n):
        await asyncio.sleep(0)


@in_a_keeper
async def test_an_end_is_not_told_before_its_runner_is_gone(scene: Scene) -> None:
    runner = scene.runner()
    run = scene.start(claimed())
    scene.keeper.runs.heard(runner, Sayings((Said(run.number, partials=(b"1",)),)))
    scene.keeper.runs.heard(
        runner, Endings((Ended(run.number, "completed", b"1", left="a thread"),))
    )
    scene.line.open.set()
    await turns()
    assert run.unrecorded == 0
    assert scene.guard.killed == [42]
    assert scene.finished == [], "its code may still run"
    scene.keeper.runs.runner_lost(runner, Exit(None, signal.SIGKILL))
    assert [told.outcome for told in scene.finished] == ["completed"]


@in_a_keeper
async def test_a_late_refusal_is_not_about_the_next_attempt(scene: Scene) -> None:
    """It would be forgotten when it ends, and its job would run for ever."""
    scene.runner()
    run = scene.start(claimed(token=2))
    scene.keeper.refused("default", 1, "its end")
    scene.keeper.refused("default", 1, "a report", 1)
    assert not run.lost
    scene.keeper.refused("default", 1, "a report", 2)
    assert run.lost


@in_a_keeper
async def test_a_job_that_is_anothers_by_now_does_not_start(scene: Scene) -> None:
    run = scene.start(claimed())  # there is no runner yet
    scene.keeper.drop(run, "it is another worker's by now")
    runner = scene.runner()
    scene.crew._distribute()
    assert runner.runs == {}
    assert (scene.crew.free, len(scene.keeper.runs), scene.finished) == (2, 0, [])


@in_a_keeper
async def test_a_crash_is_told_after_what_its_job_said_and_until_it_is_heard(scene: Scene) -> None:
    runner = scene.runner()
    run = scene.start(claimed())
    told: list[str] = []
    answers = [
        StoreUnavailable("away"),
        Finished(accepted={}, refused=(), busy=(1,), wakes=False),
        Finished(accepted={}, refused=(), busy=(), wakes=True),
    ]

    async def send(call: Any) -> Any:
        told.append(call.verb)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    store: Any = scene.keeper.store("default")
    store.send = send
    scene.keeper.runs.heard(runner, Sayings((Said(run.number, partials=(b"1",)),)))
    scene.keeper.runs.runner_lost(runner, Exit(None, signal.SIGKILL))
    await turns()
    assert told == []
    assert scene.keeper.runs.of("default", 1, 1), "it is neither given back nor forgotten"
    assert not scene.keeper.is_idle
    scene.line.open.set()
    async with asyncio.timeout(10):
        while scene.keeper.runs:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert told == ["crash"] * 3
    assert scene.crew.free == 2


@in_a_keeper
async def test_nobody_waits_for_what_a_dropped_tenant_will_not_record(scene: Scene) -> None:
    runner = scene.runner()
    run = scene.start(claimed())
    scene.keeper.runs.heard(runner, Sayings((Said(run.number, partials=(b"1",)),)))
    waits = scene.reports.flushed(run)
    scene.keeper.runs.heard(runner, Endings((Ended(run.number, "completed", b"1"),)))
    assert len(scene.keeper.runs) == 1, "its end waits for what it said"
    scene.keeper.dismiss({"default"})
    with pytest.raises(InputRefused, match="no tenant 'default' any more"):
        await waits
    assert (len(scene.keeper.runs), scene.keeper.exchanges, scene.crew.free) == (0, {}, 2)
    assert scene.keeper.is_idle


@in_a_keeper
async def test_what_ended_before_a_worker_heard_of_its_death_is_said_and_refused(
    scene: Scene,
) -> None:
    exchange: Any = scene.keeper.exchanges["default"]
    exchange._outbox.append(Ending(job=7, token=1, outcome="completed"))
    scene.line.open.set()
    scene.line.answers.append(Finished(accepted={}, refused=(7,), busy=(), wakes=False))
    await scene.keeper.say_too_late(cast(Any, scene.line))
    [said] = scene.line.calls
    assert said.verb == "finish"
    assert '"job":7' in said.arguments["outcomes"].value.replace(" ", "")


def said_too_late(scene: Scene) -> list[int]:
    """The jobs in the last call."""
    call = scene.line.calls[-1]
    assert call.verb == "finish"
    return [told["job"] for told in json.loads(call.arguments["outcomes"].value)]


@in_a_keeper
async def test_what_was_on_its_way_when_a_worker_heard_of_its_death_is_said_again(
    scene: Scene,
) -> None:
    exchange: Any = scene.keeper.exchanges["default"]
    exchange._outbox.extend(Ending(job=job, token=1, outcome="completed") for job in (7, 8))
    saying = asyncio.create_task(exchange.run_once(scene.line))
    await asyncio.sleep(0)
    assert len(scene.line.calls) == 1, "it is on its way"
    saying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saying
    scene.line.open.set()
    scene.line.answers.append(Finished(accepted={}, refused=(7, 8), busy=(), wakes=False))
    await scene.keeper.say_too_late(cast(Any, scene.line))
    assert said_too_late(scene) == [7, 8]


class RefusesOnce(FakeLine):
    """The first call; to the second there is no answer."""

    async def send(self, call: Any, _tenant: Any = None) -> Any:
        self.calls.append(call)
        if len(self.calls) == 1:
            raise InputRefused("one of them cannot be taken")
        await self.open.wait()


@in_a_keeper
async def test_nor_is_one_forgotten_of_those_that_were_being_said_one_by_one(scene: Scene) -> None:
    exchange: Any = scene.keeper.exchanges["default"]
    exchange._outbox.extend(Ending(job=job, token=1, outcome="completed") for job in (7, 8, 9))
    line = RefusesOnce()
    saying = asyncio.create_task(exchange.run_once(line))
    await asyncio.sleep(0)
    assert len(line.calls) == 2, "the first of them is on its way"
    saying.cancel()
    with pytest.raises(asyncio.CancelledError):
        await saying
    scene.line.open.set()
    scene.line.answers.append(Finished(accepted={}, refused=(7, 8, 9), busy=(), wakes=False))
    await scene.keeper.say_too_late(cast(Any, scene.line))
    assert said_too_late(scene) == [7, 8, 9]


@in_a_keeper
async def test_nor_what_was_busy_and_is_to_be_said_again(scene: Scene) -> None:
    exchange: Any = scene.keeper.exchanges["default"]
    exchange._outbox.extend(Ending(job=job, token=1, outcome="completed") for job in (7, 8))
    scene.line.open.set()
    busy = Finished(accepted={}, refused=(), busy=(8,), wakes=False)
    scene.line.answers.append(Exchanged(True, busy, (), None, None, None, idled=False))
    await exchange.run_once(scene.line)
    assert [end.job for end in exchange.unsaid] == [8]
    scene.line.answers.append(Finished(accepted={}, refused=(8,), busy=(), wakes=False))
    await scene.keeper.say_too_late(cast(Any, scene.line))
    assert said_too_late(scene) == [8]


@in_a_keeper
async def test_a_runner_that_died_before_it_had_its_jobs_costs_them_nothing(scene: Scene) -> None:
    runner = scene.runner()
    runner.ready.clear()
    scene.start(claimed())
    scene.keeper.runs.runner_lost(runner, Exit(1, None))
    [told] = scene.finished
    assert (told.outcome, told.suspect) == ("released", False)


@in_a_keeper
async def test_an_interrupt_of_a_run_that_is_over_leaves_nothing_behind(scene: Scene) -> None:
    runner = scene.runner()
    scene.keeper.runs.heard(runner, Interrupting(99))
    assert runner.passed_on == set()


@in_a_keeper
async def test_a_budget_is_told_once_however_much_is_spent_after_it(scene: Scene) -> None:
    scene.runner()
    scene.start(claimed())
    stops: list[Any] = []
    scene.keeper.stops.by_policy = lambda *told: stops.append(told)  # type: ignore[method-assign]
    for _ in range(3):
        scene.keeper.over_budget("default", 1, "too much")
    assert len(stops) == 1


@in_a_keeper
async def test_a_report_that_is_refused_is_told_to_who_waits_for_it(scene: Scene) -> None:
    scene.runner()
    run = scene.start(claimed())
    scene.line.open.set()
    scene.line.answers = [InputRefused("no such thing")]
    flushed, slot = scene.reports.flushed(run), scene.reports.take_slot(run, "beds")
    assert slot is scene.reports.take_slot(run, "beds"), "both wait for the one slot of the job"
    with pytest.raises(InputRefused, match="no such thing"):
        await flushed
    with pytest.raises(InputRefused, match="no such thing"):
        await slot


@in_a_keeper
async def test_a_role_that_may_not_report_just_now_loses_nothing(scene: Scene) -> None:
    from tenure.errors import NotAllowed

    scene.runner()
    run = scene.start(claimed())
    scene.line.open.set()
    scene.line.answers = [NotAllowed("not today")]
    await scene.reports.flushed(run)
    assert len(scene.line.calls) == 2


@in_a_keeper
async def test_reports_of_any_size_go_in_calls_of_some_size(scene: Scene) -> None:
    scene.runner()
    run = scene.start(claimed())
    partial = b'"' + b"x" * 1_000_000 + b'"'
    for _ in range(30):
        scene.reports.add(run, Said(run.number, partials=(partial,)))
    scene.line.open.set()
    await scene.reports.flushed(run)
    sizes = [len(call.arguments["reports"].value) for call in scene.line.calls]
    assert max(sizes) < 12_000_000
    assert sum(sizes) > 30_000_000
    assert run.unrecorded == 0


@pytest.mark.parametrize("about", ["nonsense", "spawn", "flush"])
def test_every_question_is_answered(about: str) -> None:
    """Whoever asks waits for it, in a thread perhaps."""

    async def main() -> None:
        scene = Scene()
        runner = scene.runner()
        run = scene.start(claimed())
        asker = 99 if about == "flush" else run.number
        scene.keeper.runs.heard(runner, Question(5, asker, about, {"task": 7}))
        sink: Any = runner._channel
        async with asyncio.timeout(10):
            while not any(hasattr(one, "refusal") for one in sink.sent):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert sink.sent[-1].refusal[0] == "InputRefused"
        scene.serving.cancel()

    asyncio.run(main())


def test_reports_keep_no_trace_of_a_run_that_is_through() -> None:
    @in_a_keeper
    async def through(scene: Scene) -> None:
        scene.runner()
        run = scene.start(claimed())
        scene.line.open.set()
        await scene.reports.flushed(run)
        reports: Reports = scene.reports
        assert not reports._open
        assert not reports._queue

    through()


@in_a_keeper
async def test_a_retry_beyond_all_time_ends_its_job_with_a_sentence(scene: Scene) -> None:
    runner = scene.runner()
    far = {"retry": {"max": 3, "base": "999999999d", "cap": "999999999d", "jitter": 0}}
    run = scene.start(claimed(options=far))
    run.cause, run.killed = "timeout", True
    scene.keeper.runs.runner_lost(runner, Exit(None, signal.SIGKILL))
    [told] = scene.finished
    assert told.outcome == "failed"
    assert "cannot be recorded" in told.error["message"]


@in_a_keeper
async def test_schedules_wait_a_while_for_a_database_that_is_away(scene: Scene) -> None:
    class Always:
        name, tenant, catch_up = "always", "default", timedelta(hours=1)

        def due(self, _moment: datetime) -> NewJob:
            return NewJob(task="task")

    async def enqueue(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("away")

    store: Any = scene.keeper.store("default")
    store.enqueue = enqueue
    schedules = Schedules(scene.keeper, [])
    schedules._next = [(scene.keeper.clock.now(), cast(Any, Always()))]
    assert await schedules.run_once(), "it is to be tried again, and not at once"
    [(due, _)] = schedules._next
    assert due <= scene.keeper.clock.now()


@pytest.mark.parametrize("amount", [float("inf"), float("nan"), -1, 1 << 64, True, "3"])
def test_only_numbers_are_spent(amount: Any) -> None:
    said: list[Any] = []
    attempt: Any = SimpleNamespace(work=SimpleNamespace(checkpoint=None), say=said.append)
    with pytest.raises(InputRefused, match="cannot be spent"):
        Context(attempt).spend(tokens=amount)
    assert said == []


@pytest.mark.parametrize("value", [b"{not json", b"", b'"\xff"', b'"\\u0000"', b"1 2"])
def test_a_result_that_is_no_json_fails_its_job_alone(value: bytes) -> None:
    """From a runner that was taken over; the database would refuse the whole call."""

    @in_a_keeper
    async def forged(scene: Scene) -> None:
        runner = scene.runner()
        run = scene.start(claimed())
        scene.keeper.runs.heard(runner, Endings((Ended(run.number, "completed", value),)))
        [told] = scene.finished
        assert told.outcome == "failed"
        assert "cannot be recorded" in told.error["message"]

    forged()
