"""What the log says of attempts: that they begin, how they end, and of their clean-up.

Attempts that begin and complete have a line each up to a number of lines a second; beyond that
they are counted. What failed, is tried again or was stopped always has its line.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from tenure.runtime.keeper.line_limit import LineLimit
from tenure.runtime.keeper.run import Run
from tenure.store.outcomes import Ending

_log = logging.getLogger("tenure.worker")

_LONGEST = 200  # characters of an error's message


_limit = LineLimit()  # of this process, as its log is


def say_began(runs: Sequence[Run], now: float) -> None:
    if not _log.isEnabledFor(logging.INFO):
        return
    for run in runs[: _limit.room("began", len(runs), now)]:
        job = run.job
        _log.info("%s begins: %s, attempt %d", run, job.task, job.attempt, extra=run.about)


def say_ended(done: Sequence[tuple[Run, Ending | None]], now: float) -> None:
    completed = []
    for run, told in done:
        if told is None:
            continue
        if told.outcome == "completed":
            completed.append(run)
        else:
            _say_ended_otherwise(run, told, now)
    if completed and _log.isEnabledFor(logging.INFO):
        for run in completed[: _limit.room("completed", len(completed), now)]:
            _log.info("%s completed (%s)", run, _facts(run, now), extra=run.about)


def _say_ended_otherwise(run: Run, told: Ending, now: float) -> None:
    facts = _facts(run, now)
    match told.outcome:
        case "stopped" if run.cause is not None:
            rung = run.rung.value if run.rung else "asked"
            _log.info("%s has stopped; it was %s (%s)", run, rung, facts, extra=run.about)
        case "failed":
            _log.warning("%s failed: %s (%s)", run, _error(run, told), facts, extra=run.about)
        case "retry":
            again, error = f"{told.run_at:%Y-%m-%dT%H:%M:%S%z}", _error(run, told)
            _log.info("%s is tried again at %s: %s (%s)", run, again, error, facts, extra=run.about)
        case "released" if run.started_at is not None and _limit.room("given back", 1, now):
            _log.info("%s is given back (%s)", run, facts, extra=run.about)


def _facts(run: Run, now: float) -> str:
    took = now - (now if run.started_at is None else run.started_at)
    return f"{run.job.task}, attempt {run.job.attempt}, after {took:.1f}s"


def say_cleaned(run: Run, report: Mapping[str, Any]) -> None:
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
        "".join(f"; {one.get('name')}: {one.get('error')}" for one in failed),
        extra=run.about,
    )


def _error(run: Run, told: Ending) -> str:
    """Its type, and its message unless the job was called with secrets: they may be in it."""
    error = told.error or {}
    kind, message = str(error.get("type") or "error"), str(error.get("message") or "")
    if (run.job.options or {}).get("secret") or not message:
        return kind
    return f"{kind}: {message[:_LONGEST]}"
