"""Stopping many jobs in one operation, and seeing it through: it needs no worker for that."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, Unpack

from tenure.control.steps import Pause, Steps
from tenure.domain.job import JSON
from tenure.domain.lifecycle import Intent
from tenure.domain.task import LastRung, Length, read_last_rung, read_length
from tenure.errors import InputRefused, SettingInvalid
from tenure.store.calls import keeping, looking, ruling
from tenure.store.ruled import Bulk

PAUSE = 0.1  # seconds between two looks while somebody else carries it on


class BulkOptions(TypedDict, total=False):
    """How each of the jobs is stopped. What is not said is as the strategy says."""

    strategy: str | None
    force: bool | None
    cascade: bool | None
    grace: Length | None
    ask_for: Length | None
    last_rung: LastRung | None
    rollback: bool | None
    preserve: bool | None
    by: str | None


def stop_many(
    filters: Mapping[str, JSON],
    intent: Intent = Intent.CANCEL,
    reason: str | None = None,
    *,
    progress: Callable[[Bulk], object] = lambda _bulk: None,
    **how: Unpack[BulkOptions],
) -> Steps[Bulk]:
    """Ask all jobs of a filter to stop; ``progress`` is called after every batch."""
    bulk: Bulk = yield ruling.bulk_stop(filters, intent, reason, **_read(how))
    progress(bulk)
    return (yield from carried_on(bulk, progress))


def carried_on(bulk: Bulk, progress: Callable[[Bulk], object] = lambda _bulk: None) -> Steps[Bulk]:
    """Carry a bulk stop on until it is over; workers do so too."""
    while bulk.ended_at is None:
        moved: Bulk | None = yield keeping.advance_bulk(bulk=bulk.id)
        if moved is None or moved == bulk:
            yield Pause(PAUSE)
            moved = yield looking.bulk(bulk.id)
        assert moved is not None
        bulk = moved
        progress(bulk)
    return bulk


def _read(how: BulkOptions) -> dict[str, Any]:
    read: dict[str, Any] = dict(how)
    try:
        for name in ("grace", "ask_for"):
            if name in read:
                read[name] = read_length(name, read[name])
        if read.get("last_rung") is not None:
            read["last_rung"] = read_last_rung("last_rung", read["last_rung"])
    except SettingInvalid as refusal:
        raise InputRefused(str(refusal)) from None
    return read
