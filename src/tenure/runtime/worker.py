"""A worker inside your program: ``async with app.worker():`` in a web service, a script, a test.

The keeper is a separate process, so the lease is renewed whatever the program does. The signal
handlers of the program stay as they are; while the worker drains, a signal also hurries it.
"""

import asyncio
import json
import os
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tenure.domain.duration import duration
from tenure.errors import SettingInvalid, TenureError
from tenure.runtime.exit_code import ExitCode
from tenure.runtime.platforms import require_worker_platform
from tenure.runtime.serving import also_on_signals, is_reloaded

if TYPE_CHECKING:
    from tenure.control.client import Client


_RELOADED = 2.0  # seconds for jobs to finish when a server reloads its program; then it hurries


class Worker:
    """A worker next to your program. ``async with`` starts it; leaving the block drains it."""

    def __init__(
        self,
        app: "Client",
        *,
        queues: Sequence[str] | None = None,
        tenants: Sequence[str] | None = None,
        all_tenants: bool = False,
        concurrency: int | None = None,
        processes: int | None = None,
    ) -> None:
        self._app = app
        self._options: dict[str, Any] = {
            "queues": queues,
            "tenants": tenants,
            "all_tenants": all_tenants,
            "concurrency": concurrency,
            "processes": processes,
        }
        self._process: asyncio.subprocess.Process | None = None
        self._is_reloaded = False
        self.id: str | None = None  # of the worker, once it is ready
        self.exit: ExitCode | None = None  # how it ended

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.drain()

    async def start(self) -> None:
        """Start the worker, and return when it is registered and ready for jobs."""
        require_worker_platform()
        if "TENURE_RUNNER" in os.environ:
            raise SettingInvalid(
                "a worker was started while a worker imported this module; put it under "
                "`if __name__ == '__main__':` or into a function"
            )
        self._is_reloaded = is_reloaded()
        arguments = {**self._options, "app": where_is(self._app), "url": self._app.known_url}
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tenure.runtime.keeper.program",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(arguments).encode() + b"\n")
        line = await self._process.stdout.readline()
        answer = json.loads(line) if line else {"problem": "the worker ended before it began"}
        if "problem" in answer:
            await self._process.wait()
            raise TenureError(answer["problem"])
        self.id = answer["ready"]

    @property
    def pid(self) -> int | None:
        """Return the process id of the keeper; None before the start."""
        return self._process.pid if self._process is not None else None

    async def drain(self, grace: timedelta | str | float | None = None) -> ExitCode | None:
        """Finish running jobs, release the rest, and exit, within ``grace`` or ``drain_grace``.

        SIGINT or SIGTERM to this program shortens the time to 2 s. So does a server that reloads
        the program, unless a grace is given.
        """
        process = self._process
        if process is None or process.stdin is None:
            return self.exit
        seconds = None if grace is None else duration(grace).total_seconds()
        hurry = None
        # The handlers first: a signal may follow as soon as the keeper says that it drains.
        with also_on_signals(self._ask):
            self._ask(seconds)
            if self._is_reloaded and grace is None:
                hurry = asyncio.get_running_loop().call_later(_RELOADED, self._ask)
            code = await process.wait()
        if hurry is not None:
            hurry.cancel()
        process.stdin.close()
        self.exit = ExitCode(code) if code in list(ExitCode) else ExitCode.ERROR
        return self.exit

    def _ask(self, seconds: float | None = None) -> None:
        """Ask the keeper to drain; asked again, it hurries."""
        process = self._process
        if process is None or process.stdin is None:
            return
        if process.returncode is None and not process.stdin.is_closing():
            process.stdin.write(json.dumps({"drain": seconds}).encode() + b"\n")


def where_is(app: "Client") -> str:
    """Return the path from which a runner can import this app: "package.module:name"."""
    for name, module in list(sys.modules.items()):
        for attribute, value in list(getattr(module, "__dict__", {}).items()):
            if value is app and name != "__main__":
                return f"{name}:{attribute}"
    main = sys.modules["__main__"]
    for attribute, value in vars(main).items():
        if value is app:
            spec = getattr(main, "__spec__", None)
            if spec is not None:
                return f"{spec.name}:{attribute}"
            if getattr(main, "__file__", None):
                return f"{Path(str(main.__file__)).resolve()}:{attribute}"
    raise SettingInvalid("the app must be a variable of a module, so that runners can import it")
