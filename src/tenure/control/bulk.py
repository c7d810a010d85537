"""Bulk operations: stop, resume or rerun many jobs, with or without a worker."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Unpack

from tenure.control.operation import Delay, Operation
from tenure.domain.duration import in_words
from tenure.domain.job import JSON
from tenure.domain.lifecycle import BulkIntent, Intent
from tenure.domain.stop_options import StopOptions, read_stop_options
from tenure.domain.values import amount
from tenure.store.call import Call
from tenure.store.calls import policy_calls, queries, upkeep
from tenure.store.policy_results import Bulk, BulkPreview

PAUSE = 0.1  # seconds between two polls while a worker carries it on


@dataclass(frozen=True)
class BulkWords:
    """The names of a bulk operation: on a button, while it runs, and for a job it is done with."""

    label: str
    doing: str
    done: str


WORDS: Mapping[BulkIntent, BulkWords] = {
    BulkIntent.CANCEL: BulkWords("Cancel", "Cancelling", "asked to stop"),
    BulkIntent.PAUSE: BulkWords("Pause", "Pausing", "asked to pause"),
    BulkIntent.RESUME: BulkWords("Resume", "Resuming", "resumed"),
    BulkIntent.RERUN: BulkWords("Run again", "Running again", "enqueued again"),
}


def consequence(
    preview: BulkPreview,
    intent: BulkIntent,
    *,
    force: bool = False,
    grace: timedelta | None = None,
    fresh: bool = False,
) -> str:
    """Describe what an operation will do to the jobs it reaches."""
    jobs = amount(preview.reaches, "job")
    match intent:
        case BulkIntent.RESUME:
            where = "from the start" if fresh else "from where they stopped"
            return f"This resumes {jobs}: each continues {where}"
        case BulkIntent.RERUN:
            return f"This enqueues {jobs} again, with the same arguments and options"
        case BulkIntent.PAUSE:
            sentence = f"This pauses {jobs} and all jobs below; they can be resumed"
        case _:
            sentence = f"This cancels {jobs} and all jobs below for good"
    waiting = preview.reaches - preview.running
    parts = [f"{waiting:,} not running now {'stops' if waiting == 1 else 'stop'} at once"]
    if preview.running:
        after = "after the grace of the task" if grace is None else f"after {in_words(grace)}"
        how = "killed at once" if force else f"asked to stop, and killed {after}"
        verb = "is" if preview.running == 1 else "are"
        parts.append(f"{preview.running:,} running {verb} {how}")
    return f"{sentence}: {', '.join(parts if waiting else parts[1:])}"


def stop_many(
    filters: Mapping[str, JSON],
    intent: Intent = Intent.CANCEL,
    reason: str | None = None,
    *,
    progress: Callable[[Bulk], object] = lambda _bulk: None,
    by: str | None = None,
    **options: Unpack[StopOptions],
) -> Operation[Bulk]:
    """Stop all jobs of a filter; ``progress`` is called after every batch."""
    return (yield from _begun(bulk_call(filters, intent, reason, by=by, **options), progress))


def bulk_call(
    filters: Mapping[str, JSON],
    intent: BulkIntent | Intent,
    reason: str | None,
    *,
    by: str | None = None,
    fresh: bool = False,
    **options: Unpack[StopOptions],
) -> Call[Bulk]:
    """Return the call that begins a bulk operation; ``fresh`` is for a resume."""
    match BulkIntent(intent):
        case BulkIntent.RESUME:
            return policy_calls.bulk_resume(filters, reason, fresh=fresh, by=by)
        case BulkIntent.RERUN:
            return policy_calls.bulk_rerun(filters, reason, by=by)
        case stop:
            given = read_stop_options(options)
            return policy_calls.bulk_stop(filters, Intent(stop), reason, by=by, **given)


def resume_many(
    filters: Mapping[str, JSON],
    reason: str | None = None,
    *,
    fresh: bool = False,
    by: str | None = None,
    progress: Callable[[Bulk], object] = lambda _bulk: None,
) -> Operation[Bulk]:
    """Resume all paused and failed jobs of a filter, from their checkpoints or ``fresh``."""
    return (
        yield from _begun(policy_calls.bulk_resume(filters, reason, fresh=fresh, by=by), progress)
    )


def rerun_many(
    filters: Mapping[str, JSON],
    reason: str | None = None,
    *,
    by: str | None = None,
    progress: Callable[[Bulk], object] = lambda _bulk: None,
) -> Operation[Bulk]:
    """Enqueue all ended jobs of a filter again, each once."""
    return (yield from _begun(policy_calls.bulk_rerun(filters, reason, by=by), progress))


def _begun(begin: Call[Bulk], progress: Callable[[Bulk], object]) -> Operation[Bulk]:
    bulk: Bulk = yield begin
    progress(bulk)
    return (yield from carried_on(bulk, progress))


def carried_on(
    bulk: Bulk, progress: Callable[[Bulk], object] = lambda _bulk: None
) -> Operation[Bulk]:
    """Carry out a bulk operation to its end; workers do so too."""
    while bulk.ended_at is None:
        moved: Bulk | None = yield upkeep.advance_bulk(bulk=bulk.id)
        if moved is None or moved == bulk:
            yield Delay(PAUSE)
            moved = yield queries.bulk(bulk.id)
        assert moved is not None
        bulk = moved
        progress(bulk)
    return bulk
