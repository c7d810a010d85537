"""A keeper without processes and without a database: a test plays both, in the order it wants."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast
from uuid import uuid4

from tenure.config import Settings
from tenure.domain.tenant import DEFAULT
from tenure.runtime.guard.guard_state import boottime
from tenure.runtime.keeper.crew import Crew, Room
from tenure.runtime.keeper.keeper import Keeper
from tenure.runtime.keeper.run import Run
from tenure.runtime.keeper.runners import Runner
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


class FakeStaff:
    def __init__(self, guard: FakeGuard) -> None:
        self._guard = guard
        self.crews: dict[Any, Crew] = {}
        self.runners: list[Runner] = []
        self.trouble = None
        self.worker = uuid4()

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

    def runner(self, name: str = "runner-1") -> Runner:
        runner = Runner(name, self.keeper.runs.heard, self.keeper.runs.runner_lost)
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
