"""The program of a keeper: a worker process, and what may ask it to drain.

``tenure worker`` is this program in a terminal. A worker inside another program is this program as
a child process with two pipes: it reports on its output that it is ready, and drains when its input
asks for it or ends, because the program is gone. The first line of its input has the arguments: a
command line is visible to everybody on the host, and a database URL must not be.
"""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from tenure.config import Settings
from tenure.domain.tenant import DEFAULT, Tenant
from tenure.errors import TenureError
from tenure.observe import logs
from tenure.runtime.exit_code import ExitCode
from tenure.runtime.garbage import collect_rarely
from tenure.runtime.keeper.runs.runner_launcher import ImportFailed
from tenure.runtime.keeper.worker_process import WorkerPlan, WorkerProcess
from tenure.runtime.leave_signals import leave_signals
from tenure.runtime.platforms import run_in_loop
from tenure.store.embedded import Embedded
from tenure.store.migrating import Migrator

_MAX_NESTING = 20_000  # lists in lists; PostgreSQL itself allows fewer


def run(
    plan: WorkerPlan, watch: Callable[[WorkerProcess], AbstractContextManager[None]]
) -> ExitCode:
    """Run a worker until it ends; `watch` receives drain requests, in the event loop."""
    # Claimed jobs come in one answer: a job too deep to be read would end every worker.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _MAX_NESTING))

    collect_rarely()

    async def main() -> ExitCode:
        process = WorkerProcess(plan)
        with watch(process):
            return await process.run()

    try:
        return run_in_loop(main())
    except BaseExceptionGroup as several:
        if several.split(TenureError)[1] is not None:
            raise
        raise _first(several) from several


def _first(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the error of the first service that failed; the others ended because of it."""
    first = several.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


def make_plan(stack: ExitStack, app: str, **options: Any) -> WorkerPlan:
    """Make a plan. The embedded PostgreSQL, if it is needed, runs as long as the stack is open."""

    def embedded(settings: Settings) -> str:
        server = stack.enter_context(Embedded.open(settings.folder))
        Migrator(server.url).migrate(DEFAULT)
        return server.url

    queues, tenants = options.pop("queues", None), options.pop("tenants", None)
    all_tenants = options.pop("all_tenants", False)
    return WorkerPlan(
        app=app,
        settings=Settings.from_environment(os.environ),
        url=options.pop("url", None),
        tenants=None if all_tenants else tuple(map(Tenant, tenants or [DEFAULT.name])),
        queues=None if queues is None else tuple(queues),
        changes=tuple((name, value) for name, value in options.items() if value is not None),
        embedded=embedded,
    )


def on_signals(process: WorkerProcess) -> AbstractContextManager[None]:
    return leave_signals(lambda number: process.ask_to_drain(number.name))


@contextmanager
def as_child(process: WorkerProcess) -> Iterator[None]:
    """Receive drain requests of the program that started this worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program to handle
    process.on_ready = lambda worker: print(json.dumps({"ready": worker}), flush=True)  # noqa: T201
    listening = asyncio.create_task(_listen(process))
    with leave_signals(lambda number: process.ask_to_drain(number.name), [signal.SIGTERM]):
        yield
    listening.cancel()


async def _listen(process: WorkerProcess) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        process.ask_to_drain("its program asked", json.loads(line)["drain"])
    process.ask_to_drain("its program is gone")


def _first_line(descriptor: int) -> bytes:
    """Read one line and nothing that follows it, which the event loop reads later."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(descriptor, 1)):
        line += byte
    return line


def main() -> int:
    arguments = json.loads(_first_line(sys.stdin.fileno()))
    logs.configure("text")
    with ExitStack() as stack:
        try:
            return run(make_plan(stack, **arguments), as_child)
        except ImportFailed as problem:
            print(json.dumps({"problem": f"{problem.traceback}{problem}"}), flush=True)  # noqa: T201
            return ExitCode.NOT_IMPORTED
        except TenureError as problem:
            print(json.dumps({"problem": str(problem)}), flush=True)  # noqa: T201
            return ExitCode.ERROR


if __name__ == "__main__":
    sys.exit(main())
