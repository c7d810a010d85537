"""The threads of a loop runner: who started them, and for whom they work."""

import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from tenure.runtime.runner import forks
from tenure.runtime.runner.attempt import current
from tenure.runtime.runner.loop_attempt import LoopAttempt


class NobodysExecutor(ThreadPoolExecutor):
    """Threads that belong to no attempt, whoever made the call for which one was started."""

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return contextvars.Context().run(super().submit, work, *args, **kwargs)


class TrackingExecutor(NobodysExecutor):
    """The loop's threads; each call is known to the attempt it is made for."""

    def __init__(self, size: int) -> None:
        super().__init__(max(size, 32), thread_name_prefix="job")
        self.untracked = NobodysExecutor(4, thread_name_prefix="runner")

    def submit(self, work: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        attempt = current.get()
        if not isinstance(attempt, LoopAttempt):
            return super().submit(forks.leaving, work, *args, **kwargs)
        call = super().submit(forks.leaving, attempt.in_thread, work, *args, **kwargs)
        attempt.calls.add(call)
        call.add_done_callback(attempt.calls.discard)
        return call


def watch_threads() -> None:
    """From now on, an attempt knows the threads that its code starts."""
    start = threading.Thread.start

    def noted_start(thread: threading.Thread) -> None:
        attempt = current.get()
        if isinstance(attempt, LoopAttempt):
            attempt.threads.add(thread)
        start(thread)

    threading.Thread.start = noted_start  # type: ignore[method-assign, assignment]
