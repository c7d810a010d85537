"""What the log says of attempts that ended other than well, and of their clean-up."""

import logging
from collections.abc import Mapping
from typing import Any

from tenure.runtime.keeper.run import Run
from tenure.store.outcomes import Ending

_log = logging.getLogger("tenure.worker")

_LONGEST = 200  # characters of an error's message


def say_ended(run: Run, told: Ending) -> None:
    match told.outcome:
        case "stopped" if run.cause is not None:
            rung = run.rung.value if run.rung else "asked"
            _log.info("%s has stopped; it was %s", run, rung, extra=run.about)
        case "failed":
            _log.warning("%s failed: %s", run, _error(run, told), extra=run.about)
        case "retry":
            again = f"{told.run_at:%Y-%m-%dT%H:%M:%S%z}"
            _log.info("%s is tried again at %s: %s", run, again, _error(run, told), extra=run.about)
        case "released":
            _log.debug("%s is given back", run, extra=run.about)


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
