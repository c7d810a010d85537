"""The run on the CPU: a word in shared memory, written around every step of a job's coroutine.

The keeper charges a death of the runner to that run, and the handler of an interrupt checks that
it hits the right one.
"""

from collections.abc import Coroutine, Generator
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
        """The coroutine of the job."""
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

    def throw(self, *raised: Any) -> Any:
        words = self._words
        words[0] = self._run
        try:
            return self._coroutine.throw(*raised)
        finally:
            if forks.in_child:
                forks.leave()
            words[0] = 0

    def close(self) -> None:
        self._coroutine.close()


class TaskOnCpu(OnCpu):
    """The steps of a task that a job created. Nothing that they raise ends the event loop."""

    __slots__ = ()

    def send(self, value: Any) -> Any:
        try:
            return super().send(value)
        except (SystemExit, KeyboardInterrupt) as error:
            raise _as_task_error(error) from error

    def throw(self, *raised: Any) -> Any:
        try:
            return super().throw(*raised)
        except (SystemExit, KeyboardInterrupt) as problem:
            raise _as_task_error(problem) from problem


def _as_task_error(error: BaseException) -> RuntimeError:
    """Wrap an exception that asyncio would raise out of the loop, past all that await the task."""
    return RuntimeError(f"a task of the job raised {error!r}")
