"""Integrations that observe jobs: each is a context manager around the code of an attempt."""

import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext

from tenure.observe import tracing
from tenure.runtime.messages import LostAttempt
from tenure.runtime.runner.attempt import Attempt
from tenure.runtime.runner.link import Link

_log = logging.getLogger("tenure.runner")

Observer = Callable[[Attempt], AbstractContextManager[object]]
LostObserver = Callable[[LostAttempt, Link], object]

_observers: list[Observer] = []
_lost_observers: list[LostObserver] = []
_flushes: list[Callable[[], object]] = []
_NOTHING = nullcontext()


def observe(
    observer: Observer,
    flush: Callable[[], object] | None = None,
    lost: LostObserver | None = None,
) -> None:
    """Enter a context manager around the code of every attempt in this process.

    ``flush`` is called before a runner ends, ``lost`` for attempts of this tenant that were killed.
    """
    if observer not in _observers:
        _observers.append(observer)
        _lost_observers.extend([lost] if lost is not None else [])
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


def report_lost(attempts: Iterable[LostAttempt], link: Link) -> None:
    """Tell the integrations about attempts whose code could not."""
    for attempt in attempts:
        for observer in _lost_observers:
            try:
                observer(attempt, link)
            except Exception:  # noqa: BLE001 - no runner ends because of an integration
                _log.exception("an integration cannot report job %d", attempt.id)


def flush() -> None:
    """Send what spans and integrations have kept, before this process ends."""
    tracing.flush()
    for each in _flushes:
        try:
            each()
        except Exception:  # noqa: BLE001 - no job fails because of an integration
            _log.exception("an integration cannot send what it has kept")
