"""Find the threads and processes that a function has left in its process runner."""

import time

from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.runner.ownership import Ownership
from tenure.runtime.runner.threads import TICK, names_of

_LAST_STEPS = 0.05  # seconds for threads that are about to end
_SECOND_CHECK = 0.01  # seconds, to tell threads that wait from those that run


def threads_of(attempt: Attempt, began: float, ownership: Ownership) -> list[str]:
    """Name the threads that an attempt has left, and its calls in pools.

    Threads of a pool that waits for calls, and C threads that wait to be woken, do not count.
    """
    until = time.monotonic() + _LAST_STEPS
    while attempt.may_have_ending_threads and time.monotonic() < until:
        time.sleep(0.001)
    try:
        strangers = ownership.threads.unknown()
        if strangers:
            time.sleep(_SECOND_CHECK)
            strangers = ownership.threads.unknown()
    except OSError as problem:  # no descriptor is left
        return [f"threads that cannot be looked for ({problem.strerror})"]
    unknown = [thread for thread, at in strangers.items() if at >= began - TICK]
    return [*names_of(attempt), *(f"thread {thread} of unknown origin" for thread in unknown)]
