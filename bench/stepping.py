"""How fast jobs step, how soon a job is back at its last step, and how soon an answer arrives."""

import time
from collections.abc import Callable, Iterator

from bench import apps
from bench.figures import Figure, console, figure
from bench.notifying import floor
from bench.quantiles import quantile
from bench.working import PATIENCE, Bench, worker
from tenure.app import Tenure
from tenure.control.handle import Handle
from tenure.domain.lifecycle import Reason, State

_STEPS = 1_000
_BESIDE = 100  # jobs that step at the same time


def step(bench: Bench) -> Iterator[Figure]:
    """No-op steps, one after the other: in one job, in many jobs, and again from what was kept."""
    rounds = range(bench.amounts.rounds)
    console.print(f"{_STEPS:,} steps")
    with (
        bench.server.database() as url,
        Tenure(url) as app,
        worker(bench, url) as at_work,
        floor(url) as least,
    ):
        at_work.warm_up(app.store)
        task = app.task(name="steps")(apps.steps.function)
        floors = [least.milliseconds() for _ in range(bench.amounts.latencies)]
        alone, again, beside = [], [], []
        for _ in rounds:
            handle = task.enqueue(_STEPS, pauses=True)
            _until(lambda of=handle: of.job().state is State.PAUSED)  # type: ignore[misc]
            alone.append(handle.partials()[-1])
            handle.resume()
            again.append(handle.result(timeout="60s"))
            began = time.monotonic()
            several = [task.enqueue(_STEPS // 10) for _ in range(_BESIDE)]
            for each in several:
                each.result(timeout="600s")
            beside.append(_BESIDE * _STEPS / 10 / (time.monotonic() - began))
        commits = figure("two commits and a notification: p50", floors, "ms")
        yield commits
        taken = [it / _STEPS * 1000 for it in alone]
        yield figure("one step of one job", taken, "ms", against=commits, at_most=4)
        one_job = figure(
            "steps of one job, one after the other", [_STEPS / it for it in alone], "steps/s"
        )
        yield one_job
        yield figure(
            f"steps of {_BESIDE} jobs at once", beside, "steps/s", against=one_job, at_least=3
        )
        yield figure(
            f"{_STEPS:,} kept steps answered", [it * 1000 for it in again], "ms", at_most=500
        )


def ask(bench: Bench) -> Iterator[Figure]:
    """From the call of answer to the code behind the question."""
    n = bench.amounts.latencies
    console.print(f"answering {n} questions")
    with (
        bench.server.database() as url,
        Tenure(url) as app,
        worker(bench, url) as at_work,
        floor(url) as least,
    ):
        at_work.warm_up(app.store)
        task = app.task(name="asks")(apps.asks.function)
        taken, floors = [], []
        for _ in range(n):
            taken.append(_answered(task.enqueue()))
            floors.append(least.milliseconds())
        two_commits = figure("two commits and a notification: p50", floors, "ms")
        yield two_commits
        yield figure(
            "answer called to code resumed: p50", taken, "ms", against=two_commits, at_most=8
        )
        yield figure("answer called to code resumed: p99", quantile(taken, 0.99), "ms")


def _answered(handle: "Handle[int]") -> float:
    _until(lambda: handle.job().waiting is Reason.ANSWER)
    time.sleep(0.03)
    called = time.monotonic_ns()
    handle.answer(True)
    time.sleep(0.03)  # a request for the result would slow the job down
    return (handle.result(timeout="60s") - called) / 1e6


def _until(look: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < end, "the job does not get there"
        time.sleep(0.005)
