"""A keeper without processes and without a database: a test plays both, in the order it wants."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast
from uuid import uuid4

from tenure.config import Settings
from tenure.domain.tenant import DEFAULT
from tenure.observe.counting import Counting
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.keeper.keeper import Keeper
from tenure.runtime.keeper.runs.process_group import ProcessGroup
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.run_times import RunTimes
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.keeper.runs.runner_group import Capacity
from tenure.runtime.shared_state import SharedState
from tenure.runtime.tickets import Tickets
from tenure.store.results import Claimed, Reported

NOTHING = Reported(accepted=(), refused=(), busy=(), exhausted=(), granted={})


def claimed(
    job: int = 1, token: int = 1, options: Any = None, *, alone: bool = False, crashes: int = 0
) -> Claimed:
    return Claimed(
        job, token, "task", "default", b"{}", 1, 3, crashes, 0, "", job, None, None, None, options,
        None, None, None, alone,
    )  # fmt: skip


class FakeGuard:
    is_frozen = is_gone = has_failed = False

    def __init__(self) -> None:
        self.killed: list[int] = []

    def trust_until(self, deadline: float) -> None:
        pass

    async def kill(self, pid: int) -> None:
        self.killed.append(pid)


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
        self.keeper = Keeper(
            uuid4(),
            "postgresql://nowhere",
            Settings(),
            tenants=[DEFAULT],
            queues=None,
            guard=cast(Any, self.guard),
            launcher=cast(Any, SimpleNamespace(runners=[])),
            first_runner=Runner("runner-0"),
            folder="/nowhere",
            counts=Counting(),
        )
        self.keeper.lease.trust_from(boottime())
        self.times: RunTimes = self.keeper.supervisor.times
        self.group = self.keeper.groups["default", "process"] = ProcessGroup(
            "default", Capacity(2, lambda: None), lambda _group: None, self.times, 10_000
        )
        self.line = FakeLine()
        self.finished: list[Any] = []
        exchange: Any = self.keeper.exchanges["default"]
        exchange.finish = self.finished.extend
        self.reports = self.keeper.reports["default"]
        self.serving = asyncio.create_task(
            self.keeper.report_dispatcher.serve(cast(Any, self.line))
        )

    def runner(self, name: str = "runner-1") -> Runner:
        supervisor = self.keeper.supervisor
        runner = Runner(name, supervisor.receive, supervisor.runner_lost)
        runner.kind, runner.tenant, runner.pid = "process", "default", 42
        runner.ready.set()
        runner._channel, runner._guard = cast(Any, Sink()), cast(Any, self.guard)
        runner.page, runner.tickets = SharedState(SharedState.create("test")), Tickets.create()
        self.group.runners.append(runner)
        return runner

    def start(self, job: Claimed) -> Run:
        self.keeper.supervisor.start("default", self.group, [job])
        run = next(run for run in self.keeper.runs if run.job is job)
        if run.runner is not None:
            self.begin(run.runner)
        return run

    def begin(self, runner: Runner) -> int | None:
        """Begin the next run, as its runner does."""
        if number := runner.tickets.take():
            runner.page.note_begun(number, time.monotonic_ns())
        return number


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
