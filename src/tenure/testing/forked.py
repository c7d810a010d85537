"""An attempt in a forked process, which a test can kill as the kernel would."""

import asyncio
import os
import signal
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Any, NoReturn

from tenure.errors import TenureError
from tenure.runtime.messages import AttemptEnded, AttemptReport
from tenure.testing.attempts import SandboxAttempt, is_coroutine, run_coroutine, run_plain
from tenure.testing.keepers import AttemptKeeper, Stop


class RemoteKeeper:
    """The keeper of an attempt, asked from the process that was forked for it."""

    kills = False

    def __init__(self, pipe: "Connection[Any, Any]") -> None:
        self._pipe = pipe

    def report(self, report: AttemptReport) -> None:
        self._call("report", report)

    def request(self, name: str, arguments: Any) -> Any:
        return self._call("request", name, arguments)

    def stop(self) -> Stop | None:
        stop: Stop | None = self._call("stop")
        return stop

    def _call(self, method: str, *arguments: Any) -> Any:
        self._pipe.send((method, arguments))
        value, error, self.kills = self._pipe.recv()
        if error is not None:
            raise error
        return value


def run_forked(attempt: SandboxAttempt) -> AttemptEnded | None:
    """Run an attempt in a child process; return None if the child was killed."""
    test_end, child_end = Pipe()
    with warnings.catch_warnings():
        # The child runs one function and ends; it takes no lock of another thread.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        test_end.close()
        _run_child(attempt, child_end)
    child_end.close()
    try:
        return _serve(test_end, attempt.link.keeper)
    finally:
        test_end.close()
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def _serve(pipe: "Connection[Any, Any]", keeper: AttemptKeeper) -> AttemptEnded | None:
    """Answer the child until it ends; return how its attempt ended."""
    methods: dict[str, Callable[..., Any]] = {
        "report": keeper.report,
        "request": keeper.request,
        "stop": keeper.stop,
    }
    while True:
        try:
            method, arguments = pipe.recv()
        except (EOFError, OSError):
            return None
        if method == "ended":
            ended: AttemptEnded = arguments
            return ended
        value, error = None, None
        try:
            value = methods[method](*arguments)
        except TenureError as problem:
            error = problem
        pipe.send((value, error, keeper.kills))


def _run_child(attempt: SandboxAttempt, pipe: "Connection[Any, Any]") -> NoReturn:
    code = 1
    try:
        attempt.link.keeper = RemoteKeeper(pipe)
        task = attempt.link.app.tasks.get(attempt.work.task)
        in_loop = is_coroutine(task)
        ended = asyncio.run(run_coroutine(attempt)) if in_loop else run_plain(attempt)
        pipe.send(("ended", ended))
        code = 0
    except BaseException:  # noqa: BLE001 - it would be taken for a kill
        error = traceback.format_exc()
        os.write(2, f"the forked attempt cannot say how it ended:\n{error}".encode())
    finally:
        os._exit(code)
