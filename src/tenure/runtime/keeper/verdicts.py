"""What the database is told about an attempt that ended."""

import random
from datetime import datetime, timedelta
from typing import Any, assert_never

import msgspec

from tenure.domain.duration import in_words
from tenure.domain.lifecycle import Intent, Rung, Verb
from tenure.domain.outcome import Attempt, Failed, JobError, verdict
from tenure.runtime.keeper.run import Run
from tenure.runtime.messages import AttemptEnded
from tenure.store.outcomes import Ending

OVER_TIME = "tenure.Timeout"
OVER_MEMORY = "tenure.MemoryLimit"


def ending(run: Run, ended: AttemptEnded, now: datetime, on_drain: str) -> Ending | None:
    """What to record of a run that ended this way; nothing when its own commit has said it."""
    told = {"cleanup": ended.cleanup, "heard": ended.heard}
    if ended.how == "committed":
        return None
    if run.cause in ("timeout", "memory") and ended.how != "completed":
        return _failed(run, _over_limit(run), False, now, told)
    if run.cause in ("drain", "preemption", "runner") and ended.how == "stopped":
        return given_back(run, on_drain if run.cause == "drain" else "release", now, told)
    match ended.how:
        case "completed":
            return _end(run, "completed", now, value=msgspec.Raw(ended.value), **told)
        case "stopped":
            return _end(run, "stopped", now, **told)
        case "failed":
            return _failed(run, ended.error or {}, ended.gives_up, now, told)
        case "snoozed":
            return _end(run, "released", now, run_at=now + timedelta(seconds=ended.delay), **told)
        case "paused":
            error = {"type": "tenure.Pause", "message": ended.reason}
            return _end(run, "stopped", now, intent=Intent.PAUSE, error=error, **told)
        case "waits":
            return _end(run, "released", now, until="children", **told)
        case _:
            assert_never(ended.how)


def killed(run: Run, now: datetime, on_drain: str) -> Ending:
    """What to record of a run whose code was killed by its ladder."""
    match run.cause:
        case "timeout" | "memory":
            return _failed(run, _over_limit(run), False, now, {"heard": True})
        case "drain":
            return given_back(run, on_drain, now, {})
        case "preemption" | "runner":
            return given_back(run, "release", now, {})
        case _:
            return _end(run, "stopped", now, heard=True)


def given_back(run: Run, how: str, now: datetime, told: dict[str, Any]) -> Ending:
    """Unspent; or paused, where the settings want that of a drain."""
    if how == "pause":
        error = {"type": "tenure.Drained", "message": "Job was interrupted by user"}
        return _end(run, "stopped", now, intent=Intent.PAUSE, error=error, **told)
    return _end(run, "released", now, **told)


def _failed(
    run: Run, error: dict[str, Any] | Any, gives_up: bool, now: datetime, told: dict[str, Any]
) -> Ending:
    job = run.job
    attempt = Attempt(job.attempt, job.max_attempts, run.limits.retry)
    problem = JobError(error.get("type", ""), error.get("message", ""), error.get("traceback"))
    decided = verdict(attempt, Failed(problem), random.random())  # noqa: S311
    if decided.verb is Verb.RETRY and not gives_up:
        return _end(
            run, "retry", now, error=error, run_at=now + (decided.delay or timedelta()), **told
        )
    return _end(run, "failed", now, error=error, **told)


def _over_limit(run: Run) -> dict[str, Any]:
    kind = OVER_TIME if run.cause == "timeout" else OVER_MEMORY
    return {"type": kind, "message": run.orders.reason if run.orders else "over a limit"}


def timeout_reason(limit: timedelta) -> str:
    return f"timeout of {in_words(limit)} exceeded"


def _end(run: Run, outcome: Any, now: datetime, **told: Any) -> Ending:
    if told.get("cleanup") and outcome == "stopped":
        told["cleanup"] = {
            **told["cleanup"],
            "job_status_updated": True,
            "job_cancelled_at": now.isoformat(),
        }
    return Ending(
        job=run.job.id,
        token=run.job.token,
        outcome=outcome,
        rung=run.rung or (Rung.ASKED if run.cause and outcome == "stopped" else None),
        runner=run.runner.name if run.runner else None,
        reached=run.reached or None,
        **told,
    )
