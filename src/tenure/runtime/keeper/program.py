"""The program of a keeper: a life, and who may ask it to leave.

``tenure worker`` is this program in a terminal. A worker inside another program is this program
beside it, at the other end of two pipes: it says on its output when it is at work, and leaves when
its input says so or ends, because the program is gone. The first line of its input says what to do:
its arguments are for everybody on this host to see, and a database URL is not.
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
from tenure.runtime.keeper.life import Life, Plan
from tenure.runtime.keeper.staff import ImportFailed
from tenure.runtime.leave_signals import leave_signals
from tenure.store.embedded import Embedded
from tenure.store.migrating import Migrator

_AS_DEEP_AS_THE_DATABASE = 20_000  # lists in lists; PostgreSQL itself stops before that


def run(plan: Plan, watch: Callable[[Life], AbstractContextManager[None]]) -> ExitCode:
    """Live until the end; `watch` is entered in the event loop, to see who asks to leave."""
    import uvloop

    # Jobs that were claimed come in one answer: one that cannot be read would end every worker.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _AS_DEEP_AS_THE_DATABASE))

    collect_rarely()

    async def main() -> ExitCode:
        life = Life(plan)
        with watch(life):
            return await life.run()

    try:
        return uvloop.run(main())
    except BaseExceptionGroup as several:
        if several.split(TenureError)[1] is not None:
            raise
        raise _first(several) from several


def _first(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """The services of a worker end together; the first to fail says why."""
    first = several.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


def make_plan(stack: ExitStack, app: str, **told: Any) -> Plan:
    """A plan in which the embedded PostgreSQL, if it is needed, lives as long as the stack."""

    def embedded(settings: Settings) -> str:
        server = stack.enter_context(Embedded.open(settings.folder))
        Migrator(server.url).migrate(DEFAULT)
        return server.url

    queues, tenants = told.pop("queues", None), told.pop("tenants", None)
    everybody = told.pop("all_tenants", False)
    return Plan(
        app=app,
        settings=Settings.from_environment(os.environ),
        url=told.pop("url", None),
        tenants=None if everybody else tuple(map(Tenant, tenants or [DEFAULT.name])),
        queues=None if queues is None else tuple(queues),
        changes=tuple((name, value) for name, value in told.items() if value is not None),
        embedded=embedded,
    )


def on_signals(life: Life) -> AbstractContextManager[None]:
    return leave_signals(lambda number: life.ask_to_drain(number.name))


@contextmanager
def beside(life: Life) -> Iterator[None]:
    """For a program that this worker stands beside."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C is the program's own affair
    life.on_ready = lambda worker: print(json.dumps({"ready": worker}), flush=True)  # noqa: T201
    listening = asyncio.create_task(_listen(life))
    with leave_signals(lambda number: life.ask_to_drain(number.name), [signal.SIGTERM]):
        yield
    listening.cancel()


async def _listen(life: Life) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        life.ask_to_drain("its program asked", json.loads(line)["drain"])
    life.ask_to_drain("its program is gone")


def _first_line(descriptor: int) -> bytes:
    """Read one line and nothing that follows it, which the event loop reads later."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(descriptor, 1)):
        line += byte
    return line


def main() -> int:
    told = json.loads(_first_line(sys.stdin.fileno()))
    logs.configure("text")
    with ExitStack() as stack:
        try:
            return run(make_plan(stack, **told), beside)
        except ImportFailed as problem:
            print(json.dumps({"problem": f"{problem.traceback}{problem}"}), flush=True)  # noqa: T201
            return ExitCode.NOT_IMPORTED
        except TenureError as problem:
            print(json.dumps({"problem": str(problem)}), flush=True)  # noqa: T201
            return ExitCode.ERROR


if __name__ == "__main__":
    sys.exit(main())
