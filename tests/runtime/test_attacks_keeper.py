"""The order of things in a keeper: forced here, because a real worker only rarely hits it."""

import asyncio
import signal
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tenure.domain.job import NewJob
from tenure.errors import InputRefused, StoreUnavailable
from tenure.runtime.context import Context
from tenure.runtime.guarding import Exit
from tenure.runtime.keeper.database.reports import Reports
from tenure.runtime.keeper.services.schedules import ScheduleService
from tenure.runtime.messages import (
    AttemptEnded,
    AttemptReport,
    AttemptReports,
    Endings,
    Interrupting,
    RunnerRequest,
)
from tenure.store.results import Finished
from tests.runtime.lone_keeper import (
    Scene,
    claimed,
    in_a_keeper,
    turns,
)


@in_a_keeper
async def test_an_end_is_not_told_before_its_runner_is_gone(scene: Scene) -> None:
    runner = scene.runner()
    run = scene.start(claimed())
    scene.keeper.supervisor.receive(
        runner, AttemptReports((AttemptReport(run.number, partials=(b"1",)),))
    )
    scene.keeper.supervisor.receive(
        runner, Endings((AttemptEnded(run.number, "completed", b"1", left="a thread"),))
    )
    scene.line.open.set()
    await turns()
    assert run.unrecorded == 0
    assert scene.guard.killed == [42]
    assert scene.finished == [], "its code may still run"
    scene.keeper.supervisor.runner_lost(runner, Exit(None, signal.SIGKILL))
    assert [told.outcome for told in scene.finished] == ["completed"]


@in_a_keeper
async def test_a_late_refusal_is_not_about_the_next_attempt(scene: Scene) -> None:
    """It would be forgotten when it ends, and its job would run for ever."""
    scene.runner()
    run = scene.start(claimed(token=2))
    scene.keeper.runs.refuse_late_write("default", 1, "its end")
    scene.keeper.runs.refuse_late_write("default", 1, "a report", 1)
    assert not run.lost
    scene.keeper.runs.refuse_late_write("default", 1, "a report", 2)
    assert run.lost


@in_a_keeper
async def test_a_job_that_is_anothers_by_now_does_not_start(scene: Scene) -> None:
    run = scene.start(claimed())  # there is no runner yet
    scene.keeper.conclusions.drop(run, "it is another worker's by now")
    runner = scene.runner()
    scene.group._distribute()
    assert runner.runs == {}
    assert (scene.group.free, len(scene.keeper.runs), scene.finished) == (2, 0, [])


@in_a_keeper
async def test_a_crash_is_told_after_what_its_job_said_and_until_it_is_heard(scene: Scene) -> None:
    runner = scene.runner()
    run = scene.start(claimed())
    told: list[str] = []
    answers = [
        StoreUnavailable("away"),
        Finished(by_state={}, refused=(), busy=(1,), wakes=False),
        Finished(by_state={}, refused=(), busy=(), wakes=True),
    ]

    async def send(call: Any) -> Any:
        told.append(call.verb)
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    store: Any = scene.keeper.database.store("default")
    store.send = send
    scene.keeper.supervisor.receive(
        runner, AttemptReports((AttemptReport(run.number, partials=(b"1",)),))
    )
    scene.keeper.supervisor.runner_lost(runner, Exit(None, signal.SIGKILL))
    await turns()
    assert told == []
    assert scene.keeper.runs.of("default", 1, 1), "it is neither given back nor forgotten"
    assert not scene.keeper.is_idle()
    scene.line.open.set()
    async with asyncio.timeout(10):
        while scene.keeper.runs:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    assert told == ["crash"] * 3
    assert scene.group.free == 2


@in_a_keeper
async def test_nobody_waits_for_what_a_dropped_tenant_will_not_record(scene: Scene) -> None:
    runner = scene.runner()
    run = scene.start(claimed())
    scene.keeper.supervisor.receive(
        runner, AttemptReports((AttemptReport(run.number, partials=(b"1",)),))
    )
    waits = scene.reports.flushed(run)
    scene.keeper.supervisor.receive(runner, Endings((AttemptEnded(run.number, "completed", b"1"),)))
    assert len(scene.keeper.runs) == 1, "its end waits for what it said"
    scene.keeper.remove_tenants({"default"})
    with pytest.raises(InputRefused, match="no tenant 'default' any more"):
        await waits
    assert (len(scene.keeper.runs), scene.keeper.exchanges, scene.group.free) == (0, {}, 2)
    assert scene.keeper.is_idle()


@in_a_keeper
async def test_a_runner_that_died_before_it_had_its_jobs_costs_them_nothing(scene: Scene) -> None:
    runner = scene.runner()
    runner.ready.clear()
    scene.start(claimed())
    scene.keeper.supervisor.runner_lost(runner, Exit(1, None))
    [told] = scene.finished
    assert (told.outcome, told.suspect) == ("released", False)


@in_a_keeper
async def test_an_interrupt_of_a_run_that_is_over_leaves_nothing_behind(scene: Scene) -> None:
    runner = scene.runner()
    scene.keeper.supervisor.receive(runner, Interrupting(99))
    assert runner.acknowledged == set()


@in_a_keeper
async def test_a_budget_is_told_once_however_much_is_spent_after_it(scene: Scene) -> None:
    scene.runner()
    scene.start(claimed())
    stops: list[Any] = []
    scene.keeper.stops.by_policy = lambda *told: stops.append(told)  # type: ignore[method-assign]
    for _ in range(3):
        scene.keeper.stops.over_budget("default", 1, "too much")
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
        scene.reports.add(run, AttemptReport(run.number, partials=(partial,)))
    scene.line.open.set()
    await scene.reports.flushed(run)
    sizes = [len(call.arguments["reports"]) for call in scene.line.calls]
    assert max(sizes) < 12_000_000
    assert sum(sizes) > 30_000_000
    assert run.unrecorded == 0


def refusal_of(about: str, told: Any, asker: int | None = None) -> tuple[str, str]:
    """Return how a keeper refuses a question of a running job, or of this run."""

    async def main() -> tuple[str, str]:
        scene = Scene()
        runner = scene.runner()
        run = scene.start(claimed())
        scene.keeper.supervisor.receive(runner, RunnerRequest(5, asker or run.number, about, told))
        sink: Any = runner._channel
        async with asyncio.timeout(10):
            while not any(hasattr(one, "refusal") for one in sink.sent):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        scene.serving.cancel()
        kind, sentence = sink.sent[-1].refusal
        return kind, sentence

    return asyncio.run(main())


@pytest.mark.parametrize("about", ["nonsense", "spawn", "undo", "flush"])
def test_every_question_is_answered(about: str) -> None:
    """The code that asks waits for the answer, perhaps in a thread."""
    kind, _ = refusal_of(about, {"task": 7}, asker=99 if about == "flush" else None)
    assert kind == "InputRefused"


def test_only_a_rollback_undoes_other_jobs() -> None:
    """Else the code of any job could take the place of what a rollback would enqueue."""
    kind, sentence = refusal_of("undo", [11, b'{"task": "noop"}'])
    assert (kind, sentence) == ("InputRefused", "only a rollback undoes other jobs")


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
    far = {"retry": {"max": 3, "base": "999999999d", "cap": "999999999d", "jitter": 0}}
    scene.keeper.supervisor.start("default", scene.group, [claimed(options=far)])
    assert not list(scene.keeper.runs), "it does not begin"
    [told] = scene.finished
    assert told.outcome == "failed"
    assert "retry: base is" in told.error["message"]


@in_a_keeper
async def test_schedules_wait_a_while_for_a_database_that_is_away(scene: Scene) -> None:
    class Always:
        name, tenant, catch_up = "always", "default", timedelta(hours=1)
        unique_key = "schedule:always"

        def due(self, _moment: datetime) -> NewJob:
            return NewJob(task="task")

        def key_of(self, moment: datetime) -> str:
            return f"schedule:always:{moment}"

    async def enqueue(*_: Any, **__: Any) -> None:
        raise StoreUnavailable("away")

    store: Any = scene.keeper.database.store("default")
    store.enqueue_reserved = enqueue
    schedules = ScheduleService(
        [], scene.keeper.clock, scene.keeper.exchanges, scene.keeper.database.store
    )
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
        scene.keeper.supervisor.receive(
            runner, Endings((AttemptEnded(run.number, "completed", value),))
        )
        [told] = scene.finished
        assert told.outcome == "failed"
        assert "cannot be recorded" in told.error["message"]

    forged()
