"""Integrations that observe jobs: each is a context manager around the code of an attempt."""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from tenure.observe import tracing
from tenure.runtime.runner.attempt import Attempt

_log = logging.getLogger("tenure.runner")

Observer = Callable[[Attempt], AbstractContextManager[object]]

_observers: list[Observer] = []
_flushes: list[Callable[[], object]] = []
_NOTHING = nullcontext()


def observe(observer: Observer, flush: Callable[[], object] | None = None) -> None:
    """Enter a context manager around the code of every attempt in this process.

    ``flush`` is called before a runner ends.
    """
    if observer not in _observers:
        _observers.append(observer)
        _flushes.extend([flush] if flush is not None else [])


def observed(attempt: Attempt) -> AbstractContextManager[None]:
    """Return the context manager for the code of an attempt."""
    return _observed(attempt) if _observers else _NOTHING


@contextmanager
def _observed(attempt: Attempt) -> Iterator[None]:
    with ExitStack() as stack:
        for observer in _observers:
            try:
                stack.enter_context(observer(attempt))
            except Exception:  # noqa: BLE001 - no job fails because of an integration
                _log.exception("an integration cannot observe job %d", attempt.work.id)
        yield


def flush() -> None:
    """Send what spans and integrations have kept, before this process ends."""
    tracing.flush()
    for each in _flushes:
        try:
            each()
        except Exception:  # noqa: BLE001 - no job fails because of an integration
            _log.exception("an integration cannot send what it has kept")
