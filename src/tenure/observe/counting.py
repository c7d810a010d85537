"""The counters of a worker; they count nothing unless metrics are configured."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from tenure.config import Settings
from tenure.observe.probes import Probed
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed

_log = logging.getLogger("tenure.worker")


class Ran(Protocol):
    """An attempt that has ended."""

    tenant: str
    job: Claimed
    started_at: float | None  # by the clock of the event loop; none: no runner took it
    lost: bool


class Counting:
    """A counter that counts nothing."""

    def claimed(self, tenant: str, jobs: Iterable[Claimed]) -> None: ...
    def ended(self, runs: Iterable[tuple[Ran, Ending | None]], now: float) -> None: ...
    def reached(self, rung: str, cause: str) -> None: ...
    def cleaned(self, report: Mapping[str, Any]) -> None: ...
    def reaped(self, processes: int) -> None: ...
    def blocked(self) -> None: ...
    def exchanged(self, seconds: float) -> None: ...
    def webhook_attempted(self, tenant: str, *, delivered: bool) -> None: ...
    def listens(self, live: Callable[[], bool]) -> None: ...
    def probed_as(self, worker: Probed | None) -> None: ...
    def close(self) -> None: ...


def counting(settings: Settings) -> Counting:
    """Return the counter that the settings ask for."""
    if settings.metrics is None:
        return Counting()
    # Imported here: a worker without metrics does not need it.
    from tenure.observe.counted import Counted

    counted = Counted(settings.metrics_prefix or "", settings.metrics)
    _log.info("metrics at http://%s/metrics", counted.address)
    return counted
