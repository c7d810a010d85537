"""Log lines about attempts: that they begin, how they end, and their cleanup.

Attempts that begin and complete have a line each up to a number of lines a second; beyond that
they are counted, because a worker runs 30,000 short jobs a second and a line for each would cost
more than the jobs. Attempts that failed, are retried or were stopped always have their line.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tenure.runtime.keeper.runs.run import Run
from tenure.store.outcomes import Ending

_log = logging.getLogger("tenure.worker")

MAX_LINES = 20  # within a second
WINDOW = 1.0  # seconds
_MAX_MESSAGE = 200  # characters of an error's message


class LineLimit:
    """Counts per kind the lines that were not written, and logs the counts once a second."""

    def __init__(self, limit: int = MAX_LINES) -> None:
        self._limit = limit
        self._left = limit
        self._until = 0.0
        self._unwritten: Counter[str] = Counter()

    def allow(self, kind: str, wanted: int, now: float) -> int:
        """Return how many lines of this kind may be written; count the others."""
        if now >= self._until:
            self.summarize()
            self._left, self._until = self._limit, now + WINDOW
        given = min(wanted, self._left)
        self._left -= given
        if wanted > given:
            if not self._unwritten:
                asyncio.get_running_loop().call_later(WINDOW, self.summarize)
            self._unwritten[kind] += wanted - given
        return given

    def summarize(self) -> None:
        """Log the counts."""
        if self._unwritten:
            counts = ", ".join(f"{n:,} {kind}" for kind, n in self._unwritten.items())
            self._unwritten.clear()
            _log.info("more jobs within a second than are logged one by one: %s", counts)


_limit = LineLimit()  # of this process, as its log is


def log_started(runs: Sequence[Run], now: float) -> None:
    if not _log.isEnabledFor(logging.INFO):
        return
    for run in runs[: _limit.allow("began", len(runs), now)]:
        job = run.job
        _log.info("%s begins: %s, attempt %d", run, job.task, job.attempt, extra=run.about)


def log_ended(done: Sequence[tuple[Run, Ending | None]], now: float) -> None:
    completed = []
    for run, ending in done:
        if ending is None:
            continue
        if ending.outcome == "completed":
            completed.append(run)
        else:
            _log_not_completed(run, ending, now)
    if completed and _log.isEnabledFor(logging.INFO):
        for run in completed[: _limit.allow("completed", len(completed), now)]:
            _log.info("%s completed (%s)", run, _facts(run, now), extra=run.about)


def _log_not_completed(run: Run, ending: Ending, now: float) -> None:
    facts = _facts(run, now)
    match ending.outcome:
        case "stopped" if run.cause is not None:
            rung = run.rung.value if run.rung else "asked"
            _log.info("%s has stopped; it was %s (%s)", run, rung, facts, extra=run.about)
        case "failed":
            _log.warning("%s failed: %s (%s)", run, _error(run, ending), facts, extra=run.about)
        case "retry":
            again, error = f"{ending.run_at:%Y-%m-%dT%H:%M:%S%z}", _error(run, ending)
            _log.info("%s is tried again at %s: %s (%s)", run, again, error, facts, extra=run.about)
        case "released" if run.started_at is not None and _limit.allow("given back", 1, now):
            _log.info("%s is given back (%s)", run, facts, extra=run.about)


def _facts(run: Run, now: float) -> str:
    took = now - (now if run.started_at is None else run.started_at)
    return f"{run.job.task}, attempt {run.job.attempt}, after {took:.1f}s"


def log_cleanup(run: Run, report: Mapping[str, Any]) -> None:
    if left := report.get("left_behind"):
        names = ", ".join(map(str, left))
        _log.warning("%s has ended, but not all that it started: %s", run, names, extra=run.about)
    if "total_resources" not in report:
        return
    closed, forced = report.get("graceful_close_succeeded") or (), report.get("force_closed") or ()
    failed = report.get("failed") or ()
    _log.log(
        logging.ERROR if failed else logging.WARNING if forced else logging.INFO,
        "cleaned up after %s: %d closed, %d closed by force, %d failed%s",
        run,
        len(closed),
        len(forced),
        len(failed),
        "".join(f"; {resource.get('name')}: {resource.get('error')}" for resource in failed),
        extra=run.about,
    )


def _error(run: Run, ending: Ending) -> str:
    """Return its type and message; the type alone if the job was called with secrets."""
    error = ending.error or {}
    kind, message = str(error.get("type") or "error"), str(error.get("message") or "")
    if (run.job.options or {}).get("secret") or not message:
        return kind
    return f"{kind}: {message[:_MAX_MESSAGE]}"
