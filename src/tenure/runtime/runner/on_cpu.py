"""Who is on the CPU: a word in shared memory, written around every step of a job's coroutine.

It tells the keeper whom to charge when the runner dies, and the handler of an interrupt whether it
hit the one that was meant.
"""

from collections.abc import Coroutine, Generator
from types import TracebackType
from typing import Any

from tenure.runtime.runner import forks


class OnCpu(Coroutine[Any, Any, Any]):
    __slots__ = ("_coroutine", "_run", "_words")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], words: memoryview, run: int) -> None:
        self._coroutine = coroutine
        self._words = words
        self._run = run

    @property
    def coroutine(self) -> Coroutine[Any, Any, Any]:
        """The job's own."""
        return self._coroutine

    def __await__(self) -> Generator[Any, None, Any]:
        return self

    def __iter__(self) -> "OnCpu":
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: Any) -> Any:
        words = self._words
        words[0] = self._run
        try:
            return self._coroutine.send(value)
        finally:
            if forks.in_child:
                forks.leave()
            words[0] = 0

    def throw(
        self,
        kind: Any,
        error: BaseException | object = None,
        trace: TracebackType | None = None,
    ) -> Any:
        words = self._words
        words[0] = self._run
        try:
            if error is None and trace is None:
                return self._coroutine.throw(kind)
            return self._coroutine.throw(kind, error, trace)
        finally:
            if forks.in_child:
                forks.leave()
            words[0] = 0

    def close(self) -> None:
        self._coroutine.close()


class TaskOnCpu(OnCpu):
    """Steps of a task that a job created. Nothing that it raises ends the event loop."""

    __slots__ = ()

    def send(self, value: Any) -> Any:
        try:
            return super().send(value)
        except (SystemExit, KeyboardInterrupt) as error:
            raise _of_the_task(error) from error

    def throw(
        self,
        kind: Any,
        error: BaseException | object = None,
        trace: TracebackType | None = None,
    ) -> Any:
        try:
            return super().throw(kind, error, trace)
        except (SystemExit, KeyboardInterrupt) as problem:
            raise _of_the_task(problem) from problem


def _of_the_task(error: BaseException) -> RuntimeError:
    """asyncio passes those two on to whoever runs the loop, past all who wait for the task."""
    return RuntimeError(f"a task of the job raised {error!r}")
