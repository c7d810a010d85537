"""The endings of attempts, as the database is told of them: one constructor for each."""

import logging
import random
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, assert_never

import msgspec

from tenure.domain.duration import in_words
from tenure.domain.job import RESULT_ARTIFACT
from tenure.domain.lifecycle import Intent, Rung
from tenure.errors import InputRefused, TenureError
from tenure.runtime.guarding import Exit
from tenure.runtime.keeper.database.storable import storable
from tenure.runtime.keeper.runs.run import Run
from tenure.runtime.keeper.runs.runner import Runner
from tenure.runtime.messages import AttemptEnded
from tenure.store.outcomes import Ending
from tenure.store.results import Claimed, Unreadable

_log = logging.getLogger("tenure.worker")

OVER_TIME = "tenure.Timeout"
OVER_MEMORY = "tenure.MemoryLimit"
CRASHED = "tenure.Crashed"


def ended(run: Run, end: AttemptEnded, now: datetime, on_drain: str) -> Ending | None:
    """Return the ending of a run whose code ended; None if the code committed it itself."""
    details = {"cleanup": end.cleanup, "heard": end.heard}
    if end.how == "committed":
        return None
    if run.cause in ("timeout", "memory") and end.how != "completed":
        return _failed(run, _over_limit(run), False, now, details)
    if run.cause in ("drain", "preemption", "runner") and end.how == "stopped":
        return _given_back(run, on_drain, now, details)
    match end.how:
        case "completed":
            stored = RESULT_ARTIFACT if end.is_stored else None
            value = None if end.is_stored else msgspec.Raw(end.value)
            return _end(run, "completed", now, value=value, stored=stored, **details)
        case "stopped":
            return _end(run, "stopped", now, **details)
        case "failed":
            return _failed(run, end.error or {}, end.gives_up, now, details, end)
        case "snoozed":
            run_at = now + timedelta(seconds=end.delay)
            return _end(run, "released", now, run_at=run_at, **details)
        case "paused":
            error = {"type": "tenure.Pause", "message": end.reason}
            return _end(run, "stopped", now, intent=Intent.PAUSE, error=error, **details)
        case "exhausted" if run.limits.on_budget == "pause":
            return _end(run, "stopped", now, intent=Intent.PAUSE, error=end.error, **details)
        case "exhausted":
            return _failed(run, end.error or {}, True, now, details)
        case "waits":
            return _end(run, "released", now, until=end.until, run_at=end.due_at, **details)
        case _:
            assert_never(end.how)


def killed(run: Run, now: datetime, on_drain: str) -> Ending:
    """Return the ending of a run that its ladder killed."""
    match run.cause:
        case "timeout" | "memory":
            return _failed(run, _over_limit(run), False, now, {"heard": True})
        case "drain" | "preemption" | "runner":
            return _given_back(run, on_drain, now, {})
        case _:
            return _end(run, "stopped", now, heard=True)


def crashed(run: Run, runner: Runner, how: Exit | None, *, guard: bool) -> Ending:
    """Charge a run with the death of its runner, or of the guard, which killed all runners."""
    message = (
        "the worker's guard died while this job ran alone: all its runners were killed"
        if guard
        else f"the process that ran it died: {how}"
    )
    error = {"type": CRASHED, "message": message, "runner": runner.name}
    return Ending(
        job=run.job.id, token=run.job.token, error=error, runner=runner.name, waited=run.waited
    )


def given_back(
    run: Run, *, suspect: bool = False, guard: bool = False, displaced: bool = False
) -> Ending:
    """Release a run whose runner is gone, or that no runner takes; no attempt is spent.

    A suspect runs alone next time, on any worker. A displaced run lost its runner to the end of
    another job. A run whose code never began stays as suspect as it was.
    """
    unstarted = run.started_at is None
    suspect = suspect and not unstarted
    what = "the worker's guard" if guard else "the process that ran it"
    message = f"{what} died, and whose fault it was is not known: it runs alone next"
    return Ending(
        job=run.job.id,
        token=run.job.token,
        outcome="released",
        error={"type": "tenure.Suspect", "message": message} if suspect else None,
        suspect=suspect,
        displaced=displaced and not unstarted,
        unstarted=unstarted,
        waited=run.waited,
    )


def postponed(job: Claimed, run_at: datetime) -> Ending:
    """Release a suspect that may not start yet; it stays a suspect."""
    return Ending(job=job.id, token=job.token, outcome="released", run_at=run_at, unstarted=True)


def unreadable_options(tenant: str, job: Claimed, refusal: InputRefused) -> Ending:
    """Fail a job whose options cannot be read."""
    about = {"tenant": tenant, "job": job.id, "attempt": job.attempt}
    return _unreadable(job, str(refusal), about)


def unreadable_row(tenant: str, job: Unreadable) -> Ending:
    """Fail a job whose row cannot be read; those claimed with it are not affected."""
    sentence = f"its row in the database cannot be read: {job.why}"
    return _unreadable(job, sentence, {"tenant": tenant, "job": job.id})


def _unreadable(job: Claimed | Unreadable, sentence: str, about: Mapping[str, object]) -> Ending:
    _log.warning("job %d: %s", job.id, sentence, extra=about)
    error = {"type": "tenure.InputRefused", "message": sentence}
    return Ending(job=job.id, token=job.token, outcome="failed", error=error)


def with_tree(ending: Ending | None, how: Exit | None) -> Ending | None:
    """Return a stop for which the runner had to end too, with the processes that are gone."""
    if ending is None or how is None or not how.gone or ending.outcome != "stopped":
        return ending
    return msgspec.structs.replace(ending, pids=how.gone, processes=how.count)


def recordable(run: Run, make: Callable[[], Ending | None]) -> Ending | None:
    """Return an ending that the database can store; a failure if the code's values prevent it."""
    try:
        ending = make()
    except (TenureError, ValueError, OverflowError) as problem:
        sentence = f"how it ended cannot be recorded: {problem}"
        error = {"type": "tenure.InputRefused", "message": sentence}
        return Ending(job=run.job.id, token=run.job.token, outcome="failed", error=error)
    if ending is None or (ending.error is None and ending.cleanup is None):
        return ending
    return msgspec.structs.replace(
        ending, error=storable(ending.error), cleanup=storable(ending.cleanup)
    )


def timeout_reason(limit: timedelta) -> str:
    return f"timeout of {in_words(limit)} exceeded"


def _given_back(run: Run, on_drain: str, now: datetime, details: dict[str, Any]) -> Ending:
    """Release the run; pause it where the settings want that of a drain."""
    if run.cause == "drain" and on_drain == "pause":
        error = {"type": "tenure.Drained", "message": "Job was interrupted by user"}
        return _end(run, "stopped", now, intent=Intent.PAUSE, error=error, **details)
    return _end(run, "released", now, **details)


def _failed(
    run: Run,
    error: Mapping[str, Any],
    gives_up: bool,
    now: datetime,
    details: dict[str, Any],
    end: AttemptEnded | None = None,
) -> Ending:
    job, retry = run.job, run.limits.retry
    decision = end.decision if end is not None and retry.function is not None else None
    stops = decision is not None and not decision.retries
    kinds = end.kinds if end is not None and end.kinds else (error.get("type", ""),)
    if gives_up or stops or job.attempt >= job.max_attempts or retry.gives_up(kinds):
        return _end(run, "failed", now, error=error, **details)
    delay = retry.delay_after(job.attempt, random.random())  # noqa: S311
    if decision is not None and decision.delay is not None:
        delay = timedelta(seconds=decision.delay)
    if retry.retry_after and end is not None and end.retry_after is not None:
        delay = max(delay, timedelta(seconds=end.retry_after))
    return _end(run, "retry", now, error=error, run_at=now + delay, **details)


def _over_limit(run: Run) -> dict[str, Any]:
    kind = OVER_TIME if run.cause == "timeout" else OVER_MEMORY
    return {"type": kind, "message": run.orders.reason if run.orders else "over a limit"}


def _end(run: Run, outcome: Any, now: datetime, **details: Any) -> Ending:
    if details.get("cleanup") and outcome == "stopped":
        details["cleanup"] = {
            **details["cleanup"],
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
        waited=run.waited,
        **details,
    )
