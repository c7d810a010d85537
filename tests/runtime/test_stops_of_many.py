"""The jobs of a large stop share the work of their keeper and runner."""

import asyncio
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tenure.config import Settings
from tenure.runtime.keeper.runs.run import Run, RunLimits
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.keeper.stops.interrupts import Interrupts
from tenure.runtime.messages import AttemptEnded, Begin, Endings, Message, WornOut
from tenure.runtime.runner import remainder, survey
from tenure.runtime.runner.loop_attempt import LoopAttempt
from tenure.runtime.runner.loop_link import LoopLink
from tenure.runtime.runner.owners import as_runner
from tenure.runtime.runner.ownership import Ownership
from tests.runtime.lone_keeper import Scene, Sink, claimed, in_a_keeper

MANY = 500


def make_run(number: int) -> Run:
    return Run(number, "default", claimed(number), RunLimits({}, Settings()))


class BlockedPage:
    """The shared memory of a runner that one run keeps busy; it counts who looks."""

    interrupt_target = 0

    def __init__(self, run: int) -> None:
        self._run = run
        self.looks = 0

    @property
    def on_cpu(self) -> int:
        self.looks += 1
        return self._run


@in_a_keeper
async def test_one_timer_watches_all_interrupts_of_a_runner(scene: Scene) -> None:
    runner = scene.runner()
    runner.kind = "async"
    page = runner.page = cast(Any, BlockedPage(7))
    signals = note_signals(runner)
    interrupts = Interrupts(scene.keeper.tasks)

    with ExitStack() as stack:
        for number in range(1, MANY + 1):
            stack.enter_context(interrupts.insisting(make_run(number), runner))
        await until(lambda: len(signals) == 3)
        assert (page.looks, page.interrupt_target) == (3, 7)

        runner.acknowledged.add(7)
        seen = page.looks
        await until(lambda: page.looks == seen + 3)
        assert len(signals) == 3, "it was signalled after it had acknowledged the interrupt"


@in_a_keeper
async def test_an_interrupt_has_its_time_before_a_signal_follows(scene: Scene) -> None:
    runner = scene.runner()
    runner.kind = "async"
    page = runner.page = cast(Any, BlockedPage(2))
    signals = note_signals(runner)
    interrupts = Interrupts(scene.keeper.tasks)

    with interrupts.insisting(make_run(1), runner):
        await until(lambda: page.looks == 1)
        await asyncio.sleep(0.01)  # half of the time until it looks again
        began = time.monotonic()
        with interrupts.insisting(make_run(2), runner):
            await until(lambda: bool(signals))
    assert signals[0] - began >= 0.02, "a signal hit code that might have listened"


def test_attempts_that_end_one_after_the_other_share_surveys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    surveys: list[int] = []

    class SlowSurvey(survey.Survey):
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            surveys.append(1)
            time.sleep(0.005)  # as with thousands of jobs

    monkeypatch.setattr(remainder, "Survey", SlowSurvey)
    monkeypatch.setattr(survey, "inherits_orphans", lambda: True)  # as in a runner

    async def end_all() -> None:
        rest = remainder.Remainder(asyncio.get_running_loop(), Ownership(), lambda _: True)
        ending = []
        for number in range(1, MANY + 1):
            attempt = LoopAttempt(make_run(number).work, cast(Any, None), time.monotonic())
            ending.append(asyncio.create_task(rest.end(attempt)))
            await asyncio.sleep(0)  # each in a turn of its own
        assert not any(await asyncio.gather(*ending))

    as_runner(asyncio.run, end_all())
    assert len(surveys) < MANY / 10


def test_one_check_of_the_runner_precedes_all_endings_of_a_turn() -> None:
    sink, checks = Sink(), []

    def check() -> None:
        checks.append(1)
        link.flush(WornOut("it was checked"))

    async def end_all() -> list[Message]:
        for number in range(MANY):
            link.end(AttemptEnded(number, "stopped"))
        await asyncio.sleep(0.01)
        return sink.sent

    loop = asyncio.new_event_loop()
    begin = Begin("async", "default", "worker", {}, "/nowhere")
    link = LoopLink(cast(Any, SimpleNamespace()), begin, loop, cast(Any, sink), {}, check)
    [worn_out, endings] = loop.run_until_complete(end_all())
    loop.close()
    assert (len(checks), worn_out) == (1, WornOut("it was checked"))
    assert isinstance(endings, Endings)
    assert len(endings.ended) == MANY


def note_signals(runner: Runner) -> list[float]:
    """Return a list of the times at which the runner is signalled from now on."""
    times: list[float] = []

    def note(number: signal.Signals) -> bool:
        times.append(time.monotonic())
        return number is signal.SIGUSR1

    runner.signal = note  # type: ignore[method-assign]
    return times


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not done():  # noqa: ASYNC110 - what is counted notifies nobody
            await asyncio.sleep(0.001)
